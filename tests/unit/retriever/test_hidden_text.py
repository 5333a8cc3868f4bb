"""What no reader of a file sees is not read either, and its owner is told."""

import hashlib

import pytest

from citewire.text.tokenizer import tokenize
from retriever.ingest.document import UnreadableDocument
from retriever.ingest.parsers import parse
from retriever.reading import read_file
from sample_files import image, pdf_file, shown, workbook_file

ONE_PLACE = ("hidden text left out: 1 place",)
BLACK_GROUND = "0 g 0 0 612 792 re f"
WHITE = "1 g"


@pytest.mark.parametrize(
    "hidden",
    [
        shown("secret", "3 Tr", at=(40, 700)) + " 0 Tr",
        shown("secret", WHITE, at=(40, 700)),
        shown("secret", "1 1 1 rg", at=(40, 700)),
        shown("secret", "0 0 0 0 k", at=(40, 700)),
        shown("secret", "/F 0.5 Tf", at=(40, 700)),
        shown("secret", "0.01 0 0 0.01 0 0 cm", at=(40, 700)),
        shown("secret", at=(40, 900)),
        shown("secret", at=(4000, 700)),
    ],
    ids=["no ink", "white grey", "white", "no colour", "tiny", "made tiny", "above", "right"],
)
def test_h07_text_that_is_not_seen_on_a_pdf_page_is_left_out_and_noted(hidden: str) -> None:
    document = parse("a.pdf", pdf_file(f"q {hidden} Q {shown('Seen words.')}"))

    assert document.text == "Seen words."
    assert document.notes == ONE_PLACE


def test_h07_what_lies_outside_the_crop_box_is_left_out() -> None:
    page = f"{shown('Seen words.')} {shown('secret', at=(40, 40))}"

    document = parse("a.pdf", pdf_file(page, entries="/CropBox [0 400 612 792]"))

    assert document.text == "Seen words."


@pytest.mark.parametrize(
    "page",
    [
        f"{BLACK_GROUND} {shown('Seen words.', WHITE)}",
        f"{image()} {shown('Seen words.', WHITE)}",
        f"{shown('Seen words.', '1 g 0 G 1 Tr')}",
        f"0.01 0 0 0.01 0 0 cm {shown('Seen words.', '/F 1000 Tf', at=(4000, 74000))}",
    ],
    ids=["white on black", "white on an image", "outlined", "made small"],
)
def test_text_that_is_seen_on_a_pdf_page_is_read(page: str) -> None:
    assert parse("a.pdf", pdf_file(page)).text == "Seen words."


@pytest.mark.parametrize(
    "page",
    [
        shown("Read by a program.", "3 Tr"),
        f"{image()} {shown('Read by a program.', '3 Tr')}",
        f"{image()} {shown('Read by a program.', '3 Tr')} {shown('Stamp', '0 Tr', at=(40, 20))}",
    ],
    ids=["alone", "on a scan", "on a scan with a stamp"],
)
def test_the_text_that_a_program_read_in_a_scan_is_kept(page: str) -> None:
    assert parse("a.pdf", pdf_file(page)).text.startswith("Read by a program.")


def test_a_page_of_images_among_others_stays_a_page_and_is_noted() -> None:
    version = read_file("a.pdf", pdf_file(shown("One."), image(), shown("Three."), image(), image()))

    assert [(page.number, version.text[page.start : page.end]) for page in version.pages] == [
        (1, "One."),
        (2, ""),
        (3, "Three."),
        (4, ""),
        (5, ""),
    ]
    assert version.notes == ("pages 2, 4-5: images without text",)


def test_a_pdf_of_images_alone_says_so() -> None:
    with pytest.raises(UnreadableDocument, match="no text found; pages 1-2: images without text"):
        parse("a.pdf", pdf_file(image(), image()))


def rc4(key: bytes, data: bytes) -> bytes:
    """The cipher of old PDFs, here to make one."""
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out = bytearray()
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


def test_a_pdf_that_is_encrypted_but_opens_without_a_password_is_read() -> None:
    padding = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
    owner, file_id = bytes(32), bytes(16)
    key = hashlib.md5(padding + owner + (0xFFFFFFFC).to_bytes(4, "little") + file_id).digest()[:5]  # noqa: S324 - the format's own
    page_key = hashlib.md5(key + (5).to_bytes(3, "little") + bytes(2)).digest()[:10]  # noqa: S324 - the format's own
    stream = rc4(page_key, shown("Seen words.").encode()).decode("latin-1")
    lock = f"<< /Filter /Standard /V 1 /R 2 /O <{owner.hex()}> /U <{rc4(key, padding).hex()}> /P -4 >>"

    data = pdf_file(stream, more=[lock], trailer=f"/Encrypt 6 0 R /ID [<{file_id.hex()}> <{file_id.hex()}>]")

    assert parse("a.pdf", data).text == "Seen words."


@pytest.mark.parametrize(
    ("css", "element"),
    [
        (".x{display:none}", "<p class='a x'>secret</p>"),
        (".x { display : none }", "<p class=x>secret</p>"),
        ("p.x , #y { VISIBILITY: hidden }", "<p id=y>secret</p>"),
        (".x{display:block} .x{display:none}", "<p class=x>secret</p>"),
        ("@media print{p{color:red}} .x{font-size:0}", "<p class=x>secret</p>"),
        ("/* { */ .x{display:none}", "<p class=x>secret</p>"),
    ],
)
def test_h07_what_a_page_s_own_style_sheet_hides_is_left_out_and_noted(css: str, element: str) -> None:
    document = parse("a.html", f"<style>{css}</style><p>Seen.</p>{element}".encode())

    assert document.text == "Seen."
    assert document.notes == ONE_PLACE


@pytest.mark.parametrize(
    ("css", "element"),
    [
        ("@media print{.x{display:none}}", "<p class=x>seen</p>"),
        (".x{display:none} .open .x{display:block}", "<p class=x>seen</p>"),
        (r".x{display:none} @media(min-width:9px){.md\:block{display:block}}", "<p class='x md:block'>seen</p>"),
        (".x{display:none}", "<p class=x style='display:block'>seen</p>"),
        (".menu .x{display:none}", "<p class=x>seen</p>"),
        ("/* .x{display:none} */", "<p class=x>seen</p>"),
        ("}}}{{{ .x", "<p class=x>seen</p>"),
    ],
)
def test_what_a_style_sheet_may_show_is_read(css: str, element: str) -> None:
    assert parse("a.html", f"<style>{css}</style>{element}".encode()).text == "seen"


def test_an_image_s_text_in_a_page_is_text_and_one_without_is_noted() -> None:
    document = parse("a.html", b"<p>Seen:<img alt='a lighthouse'>at night.</p><img src=a.png><img src=line.png alt=''>")

    assert document.text == "Seen: a lighthouse at night."
    assert document.notes == ("1 image without a text that says what it shows",)


def test_markdown_notes_its_comments_and_images_without_text() -> None:
    document = parse("a.md", b"Text <!-- a --> more <!-- b -->\n\n![](a.png) ![seen](b.png)")

    assert document.notes == ("1 image without a text that says what it shows", "comments left out: 2")


def test_notes_are_few_and_short() -> None:
    sheets = {"Shown": [["text"]]} | {f"Hidden {number}": [["text"]] for number in range(40)}

    version = read_file("a.xlsx", workbook_file(sheets, hidden="Hidden"))

    assert len(version.notes) == 20
    assert all(len(note) <= 200 for note in version.notes)


def test_g06_a_word_is_found_whichever_way_its_accent_is_written() -> None:
    composed = read_file("a.txt", "Le café est ouvert.".encode()).text
    decomposed = read_file("a.txt", "Le cafe\u0301 est ouvert.".encode()).text

    assert list(tokenize(composed)) == list(tokenize(decomposed))


@pytest.mark.parametrize("file_name", ["a.md", "a.html", "a.txt"])
def test_g06_a_title_cannot_turn_what_stands_behind_it_round(file_name: str) -> None:
    mark = {"a.md": "# ", "a.html": "<h1>", "a.txt": ""}[file_name]

    version = read_file(file_name, f"{mark}Report \u202efdp.exe\n\nText of the report.".encode())

    assert version.title.startswith("Report fdp.exe")
    assert "\u202e" not in version.chunks[0].header


def test_g06_marks_without_number_stay_text_and_cost_no_time() -> None:
    text = "a" + "\u0301" * 100_000

    assert read_file("a.txt", text.encode()).text == text
