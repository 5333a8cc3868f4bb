"""Tables in text files."""

import pytest

from retriever.ingest.document import UnreadableDocument
from retriever.ingest.limits import MAX_CELLS
from retriever.ingest.parsers import parse
from retriever.reading import read_file


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_what_stands_between_the_values_is_found(delimiter: str) -> None:
    rows = [["Name", "City"], ["Anna", "Bern"], ["Bob", "Chur"]]

    document = parse("a.csv", "\r\n".join(delimiter.join(row) for row in rows).encode())

    assert document.text == "Name: Anna | City: Bern\nName: Bob | City: Chur"
    assert (document.document_type, document.title) == ("csv", "a")


def test_a_file_of_tabs_is_read_under_its_ending() -> None:
    assert parse("a.tsv", b"Name\tCity\nAnna\tBern, CH\n").text == "Name: Anna | City: Bern, CH"


def test_excel_s_own_line_about_the_delimiter_is_no_row() -> None:
    assert parse("a.csv", b"sep=;\r\nName;City\r\nAnna;Bern\r\n").text == "Name: Anna | City: Bern"


def test_a_quoted_value_keeps_its_commas_quotes_and_lines() -> None:
    data = b'Name,Text\nAnna,"a, ""b""\nc"\nBob,d\n'

    assert parse("a.csv", data).text == 'Name: Anna | Text: a, "b" c\nName: Bob | Text: d'


def test_a_table_of_one_column_is_read() -> None:
    assert parse("a.csv", b"Name\nAnna\nBob\n").text == "Name: Anna\nName: Bob"


def test_rows_may_differ_in_length() -> None:
    assert parse("a.csv", b"Name,City\nAnna\nBob,Chur,more\n\n").text == "Name: Anna\nName: Bob | City: Chur | more"


def test_numbers_name_no_columns() -> None:
    assert parse("a.csv", b"2023,10\n2024,12\n").text == "2023 | 10\n2024 | 12"


def test_a_long_row_of_any_format_is_cut_between_its_cells() -> None:
    row = "| " + " | ".join(["A cell. It has two sentences."] * 40) + " |"

    version = read_file("a.md", row.encode())

    bodies = [version.text[chunk.start : chunk.end] for chunk in version.chunks]
    assert len(bodies) > 1
    assert all(body.endswith("|") for body in bodies)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gb18030"])
def test_chinese_tables_are_read_in_the_usual_encodings(encoding: str) -> None:
    data = "姓名,城市\n小明,北京市朝阳区\n小红,上海市浦东新区\n".encode(encoding)

    assert parse("a.csv", data).text == "姓名: 小明 | 城市: 北京市朝阳区\n姓名: 小红 | 城市: 上海市浦东新区"


def test_g05_a_value_longer_than_the_module_s_limit_is_read() -> None:
    document = parse("a.csv", b"Name,Text\nAnna," + b"word " * 60_000)

    assert len(document.text) > 290_000


def test_g05_a_quote_that_is_never_closed_takes_the_rest() -> None:
    assert parse("a.csv", b'Name,City\nAnna,"Bern\nBob,Chur\n').text == "Name: Anna | City: Bern Bob,Chur"


def test_g05_too_many_cells_are_refused() -> None:
    with pytest.raises(UnreadableDocument, match=f"{MAX_CELLS:,} cells"):
        parse("a.csv", b"a,b\n" + b"," * MAX_CELLS)
