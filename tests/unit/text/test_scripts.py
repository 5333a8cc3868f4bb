"""Which script a text is in."""

import pytest

from citewire.text.scripts import Script, script_of


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("What is the answer?", Script.LATIN),
        ("Où est la bibliothèque ?", Script.LATIN),
        ("请问退货政策是什么?", Script.HAN),
        ("LangChain 怎么用?", Script.HAN),
        ("請問 multilingual-e5-small 的向量是幾維的?", Script.HAN),
        ("What does 福 mean?", Script.LATIN),
        ("東京の人口は何人ですか", Script.KANA),
        ("データベース", Script.KANA),
        ("奶茶の店在北京市海淀区中关村大街", Script.HAN),
        ("환불 정책은 무엇입니까?", Script.HANGUL),
        ("Где находится библиотека?", Script.CYRILLIC),
        ("أين المكتبة؟", Script.OTHER),
        ("ที่อยู่ของห้องสมุด", Script.OTHER),
        ("\ud800 word \x00", Script.LATIN),
    ],
)
def test_a_text_has_the_script_of_most_of_its_words(text: str, script: Script) -> None:
    assert script_of(text) is script


@pytest.mark.parametrize("text", ["", "2024-11-30?", "🙂🙂", "\x00\udfff"])
def test_a_text_without_letters_has_no_script(text: str) -> None:
    assert script_of(text) is None


def test_the_script_of_a_huge_text_is_that_of_its_beginning() -> None:
    assert script_of("中" * 10_000 + "word " * 1_000_000) is Script.HAN
