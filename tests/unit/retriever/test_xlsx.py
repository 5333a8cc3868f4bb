"""Workbooks: each row of a visible sheet is a line that can be understood by itself."""

from datetime import date, datetime, time

import openpyxl  # type: ignore[import-untyped] # has no annotations
import pytest

from retriever.ingest.chunks import MAXIMUM
from retriever.ingest.document import UnreadableDocument
from retriever.ingest.parsers import parse
from retriever.reading import read_file
from sample_files import entry, saved, with_entry, workbook_file


def text_of(*rows: list[object]) -> str:
    """The lines under the sheet's title."""
    return parse("a.xlsx", workbook_file({"Sheet": rows})).text.removeprefix("Sheet\n\n")


def test_a_row_says_what_its_values_are() -> None:
    assert text_of(["Kind", "Price"], ["Adult", 10], ["Child", 5]) == "Kind: Adult | Price: 10\nKind: Child | Price: 5"


def test_a_sheet_is_a_section_with_its_name() -> None:
    document = parse("prices.xlsx", workbook_file({"Summer": [["a", "b"], [1, 2]], "Winter": [["c", "d"], [3, 4]]}))

    assert document.text == "Summer\n\na: 1 | b: 2\n\nWinter\n\nc: 3 | d: 4"
    assert [section.path for section in document.sections] == [("Summer",), ("Winter",)]
    assert (document.title, document.pages) == ("prices", ())


def test_a_sheet_without_text_is_no_section() -> None:
    assert parse("a.xlsx", workbook_file({"Empty": [], "Full": [["text"]]})).text == "Full\n\ntext"


def test_a_workbook_without_text_is_refused() -> None:
    with pytest.raises(UnreadableDocument, match="no text"):
        parse("a.xlsx", workbook_file({"Empty": []}))


def test_what_stands_above_the_header_is_text() -> None:
    assert (
        text_of(["Prices of 2024"], [], ["Kind", "Price"], ["Adult", 10]) == "Prices of 2024\nKind: Adult | Price: 10"
    )


def test_a_table_without_a_header_is_lines_of_values() -> None:
    assert text_of(["Adult", 10], ["Child", 5]) == "Adult | 10\nChild | 5"


def test_an_empty_cell_takes_no_room() -> None:
    assert text_of(["Kind", "Price", "Note"], ["Adult", None, "new"]) == "Kind: Adult | Note: new"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.1 + 0.2, "0.3"),
        (10.0, "10"),
        (1234567890123, "1234567890123"),
        (0.00001, "0.00001"),
        (-2.5, "-2.5"),
        (True, "TRUE"),
        (date(2024, 2, 29), "2024-02-29"),
        (datetime.combine(date(2024, 2, 29), time(9, 30)), "2024-02-29 09:30:00"),
        (time(9, 30), "09:30:00"),
        ("two\nlines", "two lines"),
    ],
)
def test_a_value_is_shown_as_its_reader_writes_it(value: object, shown: str) -> None:
    assert text_of(["Kind", "Value"], ["x", value]) == f"Kind: x | Value: {shown}"


def test_a_percentage_is_one() -> None:
    workbook = openpyxl.Workbook()
    workbook.active.append(["Kind", "Share"])
    workbook.active.append(["Adult", 0.125])
    workbook.active["B2"].number_format = "0.0%"

    assert "Share: 12.5%" in parse("a.xlsx", saved(workbook)).text


def test_h07_hidden_sheets_rows_columns_and_values_are_left_out() -> None:
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    for row in (["Kind", "secret", "Price"], ["Adult", "secret", 10], ["secret", "secret", 7], ["Child", "secret", 5]):
        sheet.append(row)
    sheet.append(["Both", "secret", "secret"])
    sheet["C5"].number_format = ";;;"
    sheet.column_dimensions["B"].hidden = True
    sheet.row_dimensions[3].hidden = True
    workbook.create_sheet("Calculation").sheet_state = "veryHidden"
    workbook["Calculation"].append(["secret"])

    document = parse("a.xlsx", saved(workbook))

    assert document.text == "Sheet\n\nKind: Adult | Price: 10\nKind: Child | Price: 5\nKind: Both"
    assert document.notes == ("hidden text left out: 2 places", "hidden sheet left out: Calculation")


def test_a_row_is_not_cut_where_it_fits_a_chunk() -> None:
    rows = [["Name", "Text"], *([f"Row {number}", "words " * 20] for number in range(30))]

    version = read_file("a.xlsx", workbook_file({"Sheet": rows}))

    bodies = [version.text[chunk.start : chunk.end] for chunk in version.chunks]
    assert all(line.startswith(("Name: Row", "Sheet")) for body in bodies for line in body.split("\n") if line)


def test_a_row_too_long_for_a_chunk_goes_on_in_lines_that_name_it() -> None:
    lines = text_of([f"Column {number}" for number in range(40)], [f"value {number}" for number in range(40)]).split(
        "\n"
    )

    assert len(lines) > 1
    assert all(line.startswith("Column 0: value 0 | Column ") for line in lines)
    assert max(map(len, lines)) <= MAXIMUM


def test_g05_a_sheet_that_lies_about_its_size_is_read_as_it_is() -> None:
    data = workbook_file()
    sheet = entry(data, "xl/worksheets/sheet1.xml").replace(b'ref="A1:B3"', b'ref="A1:XFD1048576"')

    document = parse("a.xlsx", with_entry(data, "xl/worksheets/sheet1.xml", sheet))

    assert document.text == parse("a.xlsx", data).text


def test_g05_a_row_number_that_no_sheet_has_is_refused() -> None:
    data = workbook_file()
    sheet = entry(data, "xl/worksheets/sheet1.xml").replace(b'<row r="3"', b'<row r="999999999"')

    with pytest.raises(UnreadableDocument, match="rows"):
        parse("a.xlsx", with_entry(data, "xl/worksheets/sheet1.xml", sheet))
