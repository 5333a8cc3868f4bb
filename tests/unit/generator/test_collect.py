"""An answer's citations, from its text and its sources."""

import time

import pytest

from builders import source
from citewire.contracts.evidence import PageSpan, Quote, QuoteOrigin, QuotePiece, Source, Verdict
from generator.citations.collect import Claim, collect_citations
from generator.citations.quotes import MOST_FOUND

SOURCES = [source(1, "Revenue grew by 12 percent.", start=100), source(2, "Costs fell."), source(3, "Profit rose.")]


def test_numbers_are_ascending_and_unique() -> None:
    cited = collect_citations("a [2] b [1] c [2]", (), SOURCES)

    assert [citation.number for citation in cited.citations] == [1, 2]


def test_c01_numbers_that_no_source_has_dangle() -> None:
    cited = collect_citations("Yes [5][7].", (), [*SOURCES, source(4, "x")])

    assert cited.citations == ()
    assert cited.dangling == (5, 7)


def test_c12_the_card_of_number_two_is_source_two() -> None:
    (citation,) = collect_citations("only this [2]", (), SOURCES).citations

    assert citation.doc_id == SOURCES[1].doc_id


def test_c21_nothing_cited_means_no_citation() -> None:
    cited = collect_citations("Hello.", (), SOURCES)

    assert (cited.citations, cited.dangling) == ((), ())


def test_c23_an_unfinished_marker_is_no_citation() -> None:
    assert collect_citations("a [1", (), SOURCES).citations == ()


def test_a_claim_is_found_at_its_place_in_the_document() -> None:
    (citation,) = collect_citations("- Revenue grew [1]", [Claim(1, "Revenue grew", 100)], SOURCES).citations

    (quote,) = citation.quotes
    assert (quote.start, quote.end, quote.verdict) == (100, 112, Verdict.EXACT)


def test_a_quote_knows_where_its_marker_stands_in_the_answer() -> None:
    text = "Costs fell [2]."

    (citation,) = collect_citations(text, [Claim(2, "Costs fell.")], SOURCES).citations

    (quote,) = citation.quotes
    assert text[quote.answer_start : quote.answer_end] == "[2]"


def test_c15_a_changed_digit_is_never_verified() -> None:
    (citation,) = collect_citations("x [1]", [Claim(1, "Revenue grew by 13 percent.")], SOURCES).citations

    (quote,) = citation.quotes
    assert (quote.verdict, quote.start) == (Verdict.NOT_FOUND, None)


def test_words_of_another_source_are_misattributed() -> None:
    (citation,) = collect_citations("x [1]", [Claim(1, "Costs fell.")], SOURCES).citations

    assert citation.quotes[0].verdict is Verdict.MISATTRIBUTED


def test_the_page_of_a_citation_is_the_quote_s_page() -> None:
    pages = (PageSpan(number=2, label="ii", start=0, end=10), PageSpan(number=3, label="1", start=10, end=40))
    paged = source(1, "First one. Second one stands here.", pages=pages)

    (citation,) = collect_citations("x [1]", [Claim(1, "Second one", 11)], [paged]).citations

    assert (citation.page, citation.page_label) == (3, "1")


def test_d08_a_document_without_pages_has_page_none() -> None:
    (citation,) = collect_citations("x [2]", [Claim(2, "Costs fell.")], SOURCES).citations

    assert (citation.page, citation.quotes[0].page) == (None, None)


def quotes_of(text: str, claims: list[Claim], sources: list[Source] = SOURCES) -> list[Quote]:
    """All quotes of an answer, by number and in its order."""
    return [quote for citation in collect_citations(text, claims, sources).citations for quote in citation.quotes]


def test_c11_one_document_under_two_numbers_has_a_citation_for_each() -> None:
    first = source(1, "Revenue grew.", start=0)
    again = first.model_copy(update={"number": 3, "start": 500, "end": 512, "text": "Costs fell."})

    cited = collect_citations("a [1] b [3]", [Claim(1, "Revenue grew."), Claim(3, "Costs fell.")], [first, again])

    assert [(citation.number, citation.quotes[0].start) for citation in cited.citations] == [(1, 0), (3, 500)]
    assert {citation.doc_id for citation in cited.citations} == {first.doc_id}


def test_c12_a_quote_of_number_two_is_looked_for_in_source_two() -> None:
    (quote,) = quotes_of("only this [2]", [Claim(2, "Costs fell.")])

    assert (quote.verdict, quote.start) == (Verdict.EXACT, 0)


def test_c13_citations_come_from_the_sources_of_their_own_answer() -> None:
    earlier = collect_citations("a [1]", [Claim(1, "Costs fell.")], [source(1, "Costs fell.")])
    later = collect_citations("a [1]", [Claim(1, "Costs fell.")], [source(1, "Staff grew.")])

    assert earlier.citations[0].quotes[0].verdict is Verdict.EXACT
    assert later.citations[0].quotes[0].verdict is Verdict.NOT_FOUND


def test_c19_a_position_that_is_no_number_dangles() -> None:
    cited = collect_citations("a [1]", [Claim(1, "Costs fell.")], [source(4, "Costs fell."), source(9, "x")])

    assert (cited.citations, cited.dangling) == ((), (1,))


def test_c15_words_of_another_source_name_where_they_stand() -> None:
    sources = [SOURCES[0], source(2, "Yes. Costs fell.", start=70)]

    (quote,) = quotes_of("x [1]", [Claim(1, "costs fell.")], sources)

    assert (quote.verdict, quote.start, quote.page) == (Verdict.MISATTRIBUTED, None, None)
    assert quote.pieces == (QuotePiece(number=2, start=75, end=86),)


def test_c15_words_put_together_name_each_piece() -> None:
    sources = [source(1, "Revenue grew by 12 percent.", start=100), source(2, "Costs of all units fell.", start=50)]

    (quote,) = quotes_of("x [1]", [Claim(1, "Costs of all units fell. Revenue grew by 12 percent.")], sources)

    assert quote.verdict is Verdict.STITCHED
    assert quote.pieces == (QuotePiece(number=2, start=50, end=73), QuotePiece(number=1, start=100, end=126))


def test_a_claim_belongs_to_the_marker_whose_sentence_it_supports() -> None:
    text = "Costs fell in the south [1]. Revenue grew in the north [1]."
    claims = [Claim(1, "Revenue in the north grew."), Claim(1, "Costs in the south fell.")]
    sources = [source(1, "Revenue in the north grew. Costs in the south fell.")]

    quotes = quotes_of(text, claims, sources)

    assert [quote.cited_text for quote in quotes] == ["Costs in the south fell.", "Revenue in the north grew."]
    assert [text[quote.answer_start : quote.answer_end] for quote in quotes] == ["[1]", "[1]"]
    assert [quote.answer_start for quote in quotes] == [24, 55]


def test_a_claim_without_a_marker_counts_as_cited_and_stands_nowhere_in_the_answer() -> None:
    cited = collect_citations("Costs fell [2].", [Claim(2, "Costs fell."), Claim(3, "Profit rose.")], SOURCES)

    assert [citation.number for citation in cited.citations] == [2, 3]
    (quote,) = cited.citations[1].quotes
    assert (quote.answer_start, quote.answer_end, quote.verdict) == (None, None, Verdict.EXACT)


def test_a_claim_of_a_number_that_no_source_has_dangles() -> None:
    cited = collect_citations("Costs fell.", [Claim(7, "Costs fell.")], SOURCES)

    assert (cited.citations, cited.dangling) == ((), (7,))


def test_claims_that_know_their_place_belong_to_the_markers_in_order_and_no_more() -> None:
    claims = [Claim(1, "12 percent", 116), Claim(1, "Revenue", 100), Claim(1, "grew", 108), Claim(3, "Profit", 0)]

    quotes = quotes_of("Revenue [1] and percent [1]", claims)

    assert [(quote.cited_text, quote.answer_start) for quote in quotes] == [("12 percent", 8), ("Revenue", 24)]


def test_a_place_that_a_claim_does_not_have_is_looked_for() -> None:
    (quote,) = quotes_of("x [1]", [Claim(1, "Revenue grew", 103)])

    assert (quote.start, quote.end, quote.verdict) == (100, 112, Verdict.EXACT)


def test_a_marker_without_a_quote_gets_the_passage_that_supports_its_sentence() -> None:
    text = "Revenue rose by 12 percent: it grew [1]."

    (quote,) = quotes_of(text, [])

    assert (quote.start, quote.end, quote.cited_text) == (100, 127, "Revenue grew by 12 percent.")
    assert (quote.origin, quote.verdict) == (QuoteOrigin.FOUND, Verdict.EXACT)
    assert text[quote.answer_start : quote.answer_end] == "[1]"


@pytest.mark.parametrize(
    "text", ["Revenue grew by 13 percent [1].", "Staff was merry [1].", "Revenue never grew by 12 percent [1]"]
)
def test_a_marker_that_nothing_supports_has_no_quote(text: str) -> None:
    (citation,) = collect_citations(text, [], SOURCES).citations

    assert (citation.number, citation.quotes) == (1, ())


def test_a_quote_that_is_given_is_not_replaced_by_one_that_is_found() -> None:
    (quote,) = quotes_of("Revenue grew by 12 percent [1].", [Claim(1, "Revenue doubled.")])

    assert (quote.origin, quote.verdict) == (QuoteOrigin.GIVEN, Verdict.NOT_FOUND)


PAGED = source(
    1,
    "Costs fell. Costs fell.",
    start=40,
    pages=(PageSpan(number=7, start=40, end=52), PageSpan(number=8, label="vi", start=52, end=63)),
)


def test_a_claimed_page_chooses_among_places_of_the_same_words() -> None:
    (quote,) = quotes_of("x [1]", [Claim(1, "Costs fell.", page=8)], [PAGED])

    assert (quote.start, quote.page, quote.page_label) == (52, 8, "vi")


def test_a_claimed_page_that_is_wrong_is_corrected() -> None:
    (quote,) = quotes_of("x [1]", [Claim(1, "Costs fell.", page=3)], [PAGED])

    assert (quote.start, quote.page, quote.page_label) == (40, 7, None)


def test_what_a_model_says_it_quotes_can_be_stored() -> None:
    (quote,) = quotes_of("x [1]", [Claim(1, "\ud800Costs\0 " + "x" * 10_000)])

    assert quote.verdict is Verdict.NOT_FOUND
    assert len(quote.cited_text) < 5_000
    assert quote.model_dump_json()


def test_a_hundred_quotes_against_thirty_long_sources_take_little_time() -> None:
    sources = [source(number, f"In {number} costs of the unit fell. " * 600) for number in range(1, 31)]
    claims = [Claim(number % 30 + 1, f"In {number} costs of the unit fell." * 50) for number in range(100)]
    text = " ".join(f"Costs fell [{claim.number}]." for claim in claims)
    begun = time.process_time()

    cited = collect_citations(text, claims, sources)

    assert sum(len(citation.quotes) for citation in cited.citations) == 100
    assert time.process_time() - begun < 20


def test_a_flood_of_markers_without_quotes_is_not_looked_through_to_the_end() -> None:
    sources = [source(number, "Revenue grew by 12 percent. " * 40) for number in range(1, 31)]
    begun = time.process_time()

    cited = collect_citations("Revenue grew by 12 percent [1-30].\n\n" * 300, [], sources)

    assert sum(len(citation.quotes) for citation in cited.citations) == MOST_FOUND
    assert time.process_time() - begun < 10
