"""What a query asks the lexical index for."""

from citewire.contracts.evidence import SearchQuery
from retriever.index.terms import query_weights


def test_a_term_weighs_as_often_as_the_query_has_it() -> None:
    weights = query_weights(SearchQuery(query="ticket museum ticket", kb_id="kb"))

    assert weights == {"ticket": 2.0, "museum": 1.0}


def test_earlier_questions_weigh_a_fifth() -> None:
    weights = query_weights(SearchQuery(query="ticket", kb_id="kb", context=("museum ticket",)))

    assert weights == {"ticket": 1.2, "museum": 0.2}


def test_a_query_without_terms_asks_for_nothing() -> None:
    assert query_weights(SearchQuery(query=" 。!", kb_id="kb")) == {}


def test_only_the_first_4000_characters_count() -> None:
    weights = query_weights(SearchQuery(query="a" * 4000 + " ticket", kb_id="kb"))

    assert "ticket" not in weights
