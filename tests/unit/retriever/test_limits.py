"""Files that are not what they are called, or are made to do harm, are refused with a reason."""

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from retriever.ingest.document import UnreadableDocument
from retriever.ingest.limits import MAX_CHARACTERS, MAX_DEPTH, MAX_ENTRIES
from retriever.ingest.parsers import PARSERS, parse
from retriever.ingest.writer import DocumentWriter
from sample_files import entry, names, pdf_file, shown, slides_file, with_entry, word_file, workbook_file

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)
DOCUMENT = "word/document.xml"


def reason(file_name: str, data: bytes) -> str:
    with pytest.raises(UnreadableDocument) as refusal:
        parse(file_name, data)
    return str(refusal.value)


@pytest.mark.parametrize(
    ("file_name", "data", "expected"),
    [
        ("a.docx", pdf_file(shown("x")), "is called .docx but is a PDF"),
        ("a.docx", workbook_file(), "is called .docx but is an Excel workbook"),
        ("a.xlsx", slides_file(), "is called .xlsx but is a PowerPoint presentation"),
        ("a.pptx", word_file(), "is called .pptx but is a Word document"),
        ("a.pptx", b"Just text.", "is called .pptx but is not a PowerPoint presentation"),
        ("a.pdf", word_file(), "is called .pdf but is a ZIP archive"),
        ("a.csv", workbook_file(), "is called .csv but is a ZIP archive"),
        ("a.txt", b"\x1f\x8b\x08 more", "is called .txt but is compressed data"),
        ("a.docx", OLE, "is called .docx but is an old Office document: save it as .docx"),
        ("a.xlsm", OLE, "is called .xlsm but is an old Office document: save it as .xlsx"),
        ("a.doc", OLE, "unknown type '.doc': save it as .docx"),
        ("a.xls", OLE, "unknown type '.xls': save it as .xlsx"),
        ("a.ppt", OLE, "unknown type '.ppt': save it as .pptx"),
        ("a.docx", OLE + "EncryptedPackage".encode("utf-16-le"), "is encrypted: save it without a password"),
    ],
)
def test_the_content_decides_what_a_file_is(file_name: str, data: bytes, expected: str) -> None:
    assert reason(file_name, data) == expected


def archive(**entries: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in entries.items():
            opened.writestr(name, content)
    return target.getvalue()


def test_an_archive_of_anything_else_is_no_document() -> None:
    assert reason("a.docx", archive(readme=b"text")) == "is called .docx but is a ZIP archive"


@pytest.mark.parametrize("name", [DOCUMENT, "_rels/.rels", "[Content_Types].xml"])
def test_a_document_without_one_of_its_parts_is_refused(name: str) -> None:
    assert reason("a.docx", with_entry(word_file(), name, None))


@pytest.mark.parametrize("name", ["word/media/image1.png", DOCUMENT, "customXml/item1.xml"])
def test_g05_an_archive_that_unpacks_to_many_times_its_size_is_refused(name: str) -> None:
    assert "times its size" in reason("a.docx", with_entry(word_file(), name, b" " * (80 << 20)))


def test_g05_an_archive_that_lies_about_its_size_is_refused() -> None:
    size = 80 << 20
    data = with_entry(word_file(), "word/media/image1.png", bytes(size))

    assert reason("a.docx", data.replace(size.to_bytes(4, "little"), (10).to_bytes(4, "little")))


def test_g05_an_archive_of_too_many_parts_is_refused() -> None:
    data = archive(**{f"word/{number}": b"" for number in range(MAX_ENTRIES + 1)})

    assert f"at most {MAX_ENTRIES:,}" in reason("a.docx", data)


def test_an_archive_inside_a_document_stays_closed() -> None:
    inner = archive(bomb=bytes(30 << 20))

    assert parse("a.docx", with_entry(word_file(), "word/embeddings/a.zip", inner)).text.startswith("Museum guide")


def test_a_document_with_a_password_on_its_archive_is_refused() -> None:
    data = bytearray(word_file())
    central = data.index(b"PK\x01\x02")
    data[central + 8] |= 1

    assert "encrypted" in reason("a.docx", bytes(data))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    ("file_name", "data", "name"),
    [
        ("a.docx", word_file(), DOCUMENT),
        ("a.docx", word_file(), "docProps/core.xml"),
        ("a.xlsx", workbook_file(), "xl/worksheets/sheet1.xml"),
        ("a.pptx", slides_file(), "ppt/slides/slide1.xml"),
    ],
    ids=["docx", "properties", "xlsx", "pptx"],
)
@pytest.mark.parametrize(
    "declaration", ['<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">', '<!ENTITY b SYSTEM "file:///etc/passwd">']
)
def test_xml_entities_are_refused(file_name: str, data: bytes, name: str, declaration: str, encoding: str) -> None:
    root = entry(data, name).decode().rpartition("?>")[2]
    text = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE x [{declaration}]>{root}'

    assert "entities" in reason(file_name, with_entry(data, name, text.encode(encoding)))


@pytest.mark.parametrize(
    ("file_name", "data", "name"),
    [("a.docx", word_file(), DOCUMENT), ("a.xlsx", workbook_file(), "xl/worksheets/sheet1.xml")],
    ids=["docx", "xlsx"],
)
def test_xml_entities_in_a_part_of_another_name_do_not_grow(file_name: str, data: bytes, name: str) -> None:
    renamed = name.replace(".xml", ".bin")
    for mention in ("[Content_Types].xml", "_rels/.rels", "xl/_rels/workbook.xml.rels"):
        if mention in names(data):
            changed = entry(data, mention).replace(
                name.rpartition("/")[2].encode(), renamed.rpartition("/")[2].encode()
            )
            data = with_entry(data, mention, changed)
    entities = '<!ENTITY a0 "aaaaaaaaaa">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 9))
    root = entry(data, name).decode().rpartition("?>")[2]
    text = f"<!DOCTYPE x [{entities}]>{root}".replace("Opening hours", "&a8;").replace("<v>10</v>", "<v>&a8;</v>")

    bomb = with_entry(with_entry(data, name, None), renamed, text.encode())

    assert reason(file_name, bomb).startswith("is a broken")


@pytest.mark.parametrize("ending", sorted(PARSERS))
@pytest.mark.parametrize("data", [b"", b" \r\n\t" * 1000], ids=["nothing", "white space"])
def test_an_empty_file_of_any_kind_is_refused(ending: str, data: bytes) -> None:
    assert reason(f"a{ending}", data) == "is empty"


@pytest.mark.parametrize("file_name", ["a.txt", "a.md", "a.csv"])
def test_g05_more_text_than_is_read_is_refused(file_name: str) -> None:
    assert f"{MAX_CHARACTERS:,} characters" in reason(file_name, b"words and \n" * (MAX_CHARACTERS // 11 + 1))


def test_g05_more_text_than_is_read_is_refused_while_it_grows() -> None:
    writer = DocumentWriter()
    writer.add("x" * MAX_CHARACTERS)

    with pytest.raises(UnreadableDocument, match=f"{MAX_CHARACTERS:,} characters"):
        writer.add("x")


def test_g05_a_page_that_is_too_deep_is_refused_before_it_is_parsed() -> None:
    assert f"{MAX_DEPTH:,} deep" in reason("a.html", b"<div>" * (MAX_DEPTH + 1))


def test_tags_that_end_each_other_are_not_deep() -> None:
    assert parse("a.html", b"<p>x" * (MAX_DEPTH + 1)).text


def test_g05_xml_that_is_too_deep_is_refused() -> None:
    word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    deep = f"<w:document {word}><w:body>{'<w:sdt>' * 9000}{'</w:sdt>' * 9000}</w:body></w:document>"

    assert "broken Word document" in reason("a.docx", with_entry(word_file(), DOCUMENT, deep.encode()))


def many_paragraphs() -> bytes:
    """A Word document that takes far more memory than its size to be read."""
    text = entry(word_file(), DOCUMENT).decode()
    paragraphs = "".join(f"<w:p><w:r><w:t>{number * 7919} words</w:t></w:r></w:p>" for number in range(100_000))
    return with_entry(word_file(), DOCUMENT, text.replace("<w:sectPr", f"{paragraphs}<w:sectPr", 1).encode())


@pytest.mark.parametrize(
    ("file_name", "data"), [("a.txt", b"x" * (60 << 20)), ("a.docx", many_paragraphs())], ids=["txt", "docx"]
)
def test_g05_a_file_that_takes_too_much_memory_says_so(file_name: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / file_name
    path.write_bytes(data)
    script = (
        "import sys, resource, retriever.reading, retriever.child as child\n"
        "data = open(sys.argv[1], 'rb').read()\n"
        "taken = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (taken + (24 << 20), resource.RLIM_INFINITY))\n"
        "print(child._read_file(sys.argv[1], data).reason)"
    )

    done = subprocess.run([sys.executable, "-P", "-c", script, path], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "reading it takes too much memory"
