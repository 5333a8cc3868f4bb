"""Small files of the formats that are read, built as their programs build them."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import docx
import openpyxl  # type: ignore[import-untyped] # has no annotations
import pptx


class _Savable(Protocol):
    def save(self, target: Any, /) -> object: ...


def saved(document: _Savable) -> bytes:
    """The bytes of a document, workbook or presentation."""
    target = io.BytesIO()
    document.save(target)
    return target.getvalue()


def word_file() -> bytes:
    """A Word document of a title, two sections, a list and a table."""
    document = docx.Document()
    document.add_heading("Museum guide", 0)
    document.add_heading("Opening hours", 1)
    document.add_paragraph("The museum opens at nine.")
    document.add_heading("Tickets", 1)
    document.add_paragraph("At the desk", style="List Bullet")
    document.add_paragraph("By mail", style="List Bullet")
    table = document.add_table(2, 2)
    for cell, text in zip([*table.rows[0].cells, *table.rows[1].cells], ["Kind", "Price", "Adult", "10"], strict=True):
        cell.text = text
    return saved(document)


def workbook_file(sheets: Mapping[str, Sequence[Sequence[object]]] | None = None, hidden: str = "") -> bytes:
    """An Excel workbook of the given sheets, each a list of rows; those whose name begins with `hidden` are so."""
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for title, rows in (sheets or {"Prices": [["Kind", "Price"], ["Adult", 10], ["Child", 5.5]]}).items():
        sheet = workbook.create_sheet(title)
        if hidden and title.startswith(hidden):
            sheet.sheet_state = "hidden"
        for row in rows:
            sheet.append(row)
    return saved(workbook)


def slides_file(
    slides: Sequence[tuple[str, str]] = (("Welcome", "Nine to five."), ("Tickets", "Ten francs.")),
) -> bytes:
    """A PowerPoint presentation of slides with a title and a text."""
    presentation = pptx.Presentation()
    for title, text in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = text
    return saved(presentation)


def pdf_file(*pages: str, catalog: str = "", entries: str = "", trailer: str = "", more: Sequence[str] = ()) -> bytes:
    """A PDF of pages given by their content streams, in which /F is Courier.

    Page n is object 2n + 2, `more` are the objects behind the pages, `entries` are those of each page.
    """
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(len(pages)))
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {catalog} >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>",
    ]
    for index, stream in enumerate(pages):
        page = "/MediaBox [0 0 612 792] /Resources << /Font << /F 3 0 R >> >>"
        objects += [
            f"<< /Type /Page /Parent 2 0 R {page} /Contents {5 + 2 * index} 0 R {entries} >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    return _with_table([*objects, *more], trailer)


def _with_table(objects: Sequence[str], trailer: str) -> bytes:
    body = b"%PDF-1.6\n"
    rows = ""
    for number, content in enumerate(objects, 1):
        rows += f"{len(body):010} 00000 n \n"
        body += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    size = len(objects) + 1
    end = f"trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{len(body)}\n%%EOF\n"
    return body + f"xref\n0 {size}\n0000000000 65535 f \n{rows}{end}".encode()


def shown(text: str, operators: str = "", at: tuple[int, int] = (40, 740)) -> str:
    """A PDF text object of one line, 10 points high unless the operators say otherwise."""
    return f"BT /F 10 Tf {operators} {at[0]} {at[1]} Td ({text}) Tj ET"


def image(width: int = 600, height: int = 780) -> str:
    """A grey image in a PDF page's lower left corner."""
    return f"q {width} 0 0 {height} 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID x EI Q"


def with_entry(archive: bytes, name: str, content: bytes | None) -> bytes:
    """An archive with one entry replaced, added, or, for None, left out."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.namelist():
            if entry != name:
                new.writestr(entry, old.read(entry))
        if content is not None:
            new.writestr(name, content)
    return target.getvalue()


def entry(archive: bytes, name: str) -> bytes:
    """One entry of an archive."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return opened.read(name)


def names(archive: bytes) -> list[str]:
    """What an archive holds."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return opened.namelist()
