"""Files that were damaged on their way: each is read or refused with a reason, and nothing is said on the side."""

import io
import random
import re
import zipfile
from collections.abc import Callable
from pathlib import PurePath
from typing import Final

import pytest

from retriever.contents import NewVersion, Unreadable
from retriever.worker import Worker
from sample_files import pdf_file, shown, slides_file, word_file, workbook_file

FILES: Final = 200
GOOD: Final = {
    "a.docx": word_file(),
    "a.xlsx": workbook_file(),
    "a.pptx": slides_file(),
    "a.pdf": pdf_file(shown("One page."), shown("Another.")),
    "a.html": b"<style>.x{display:none}</style><h1>A</h1><p class=x>b</p><table><tr><td>c</table><img src=d>" * 3,
    "a.md": b"---\ntitle: A\n---\n# B\n\n![](c) <!-- d -->\n\n- e\n\n```\nf\n```\n",
    "a.csv": b'Name,City\nAnna,"Bern\nCH"\n' * 5,
    "a.txt": "[小明] 你好\n[小红] 早\n".encode() * 4,
}


def truncated(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data))]


def flipped(chance: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 20)):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def nested(chance: random.Random, data: bytes) -> bytes:
    """The file inside others of its kind: in an archive, or around and behind itself."""
    if not zipfile.is_zipfile(io.BytesIO(data)):
        middle = chance.randrange(len(data))
        return data[:middle] + data * 3 + data[middle:]
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("[Content_Types].xml", data)
        archive.writestr(chance.choice(["word", "xl", "ppt"]) + "/inner", data)
    return target.getvalue()


def disturbed(chance: random.Random, data: bytes) -> bytes:
    """One part of an archive damaged, the archive itself sound; elsewhere a piece in the middle cut out."""
    if not zipfile.is_zipfile(io.BytesIO(data)):
        start = chance.randrange(len(data))
        return data[:start] + data[start + chance.randint(1, 60) :]
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        victim = chance.choice([name for name in old.namelist() if name.endswith((".xml", ".rels"))])
        for name in old.namelist():
            content = old.read(name)
            if name == victim:
                value = chance.choice(re.findall(rb'"[^"]*"', content) or [b" "])
                content = content.replace(value, chance.choice([b'""', b'"-1"', b'"999999999999"', b'"x"', b"<"]), 2)
            new.writestr(name, content)
    return target.getvalue()


DAMAGES: Final[tuple[Callable[[random.Random, bytes], bytes], ...]] = (truncated, flipped, nested, disturbed, disturbed)


def damaged(seed: int) -> tuple[str, bytes]:
    """A file's name and content; now and then the name is another one's."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    names = list(GOOD)
    name = names[seed % len(names)]
    data = chance.choice(DAMAGES)(chance, GOOD[name])
    return (chance.choice(names) if chance.random() < 0.15 else name), data


async def test_g05_broken_files_are_read_or_refused_with_a_reason(capfd: pytest.CaptureFixture[str]) -> None:
    async with Worker(reading_limit=30) as worker:
        outcomes = [await worker.read_file(*damaged(seed)) for seed in range(FILES)]
        good = [await worker.read_file(name, data) for name, data in GOOD.items()]

    reasons = [outcome.reason for outcome in outcomes if isinstance(outcome, Unreadable)]
    assert all(reasons)
    assert not [reason for reason in reasons if "process" in reason or "longer" in reason]
    assert 0 < len(reasons) < FILES
    assert all(isinstance(outcome, NewVersion) for outcome in good)
    assert capfd.readouterr().err == ""


def test_the_broken_files_are_of_every_kind() -> None:
    kinds = {PurePath(damaged(seed)[0]).suffix for seed in range(FILES)}

    assert kinds == {PurePath(name).suffix for name in GOOD}
