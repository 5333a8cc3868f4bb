"""From printed lines to paragraphs, and page numbers out of them."""

from retriever.ingest.lines import HYPHEN, drop_page_numbers, join_lines


def test_a_line_that_is_a_mark_only_is_joined_with_its_item() -> None:
    assert join_lines("1.\nCritical: one day\n2.\nHigh: two days") == "1. Critical: one day\n2. High: two days"


def test_chinese_lines_are_joined_without_a_blank() -> None:
    lines = "欧洲议会选举和成员国内的欧洲议会议员选举必须按照比例\n代表制来组织。\n第二条"

    assert join_lines(lines) == "欧洲议会选举和成员国内的欧洲议会议员选举必须按照比例代表制来组织。\n第二条"


def test_chinese_lines_count_double_beside_latin_ones() -> None:
    lines = "一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十\n继续写 " + "x" * 50

    assert "\n" not in join_lines(lines)


def test_numbers_that_count_on_are_page_numbers_without_labels_too() -> None:
    assert drop_page_numbers(["7\nText", "8\nMore", "9\nEnd"], ["", "", ""]) == ["Text", "More", "End"]


def test_a_number_that_does_not_count_on_is_text() -> None:
    pages = ["Total\n250", "Total\n300", "Text"]

    assert drop_page_numbers(pages, ["", "", ""]) == pages


def test_korean_lines_are_joined_with_a_blank() -> None:
    line = "한국어는 낱말 사이를 띄어 쓰는 언어이고 줄이 길면 이렇게"

    assert join_lines(f"{line}\n이어진다") == f"{line} 이어진다"


def test_d07_a_hyphen_for_the_paper_goes_between_small_letters_only() -> None:
    assert join_lines(f"vulnera{HYPHEN}\nbility after COVID{HYPHEN}\n19") == "vulnerability after COVID-19"


def test_list_items_and_headings_stay_on_lines_of_their_own() -> None:
    lines = [
        "Vulnerability management",
        "This paragraph shows how wide a line of this page can be at the most.",
        "1. Triaging of all that was found since the last meeting of the team",
        "2. Engineering estimation",
        "- another item that is long enough to reach the end of the line, yes",
        "- the last item",
    ]

    assert join_lines("\n".join(lines)) == "\n".join(lines)
