"""An answer's citations, from its text and its sources."""

from builders import source
from citewire.contracts.evidence import PageSpan, Verdict
from generator.citations.collect import Claim, collect_citations

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
