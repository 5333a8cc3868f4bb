"""What came for one reader: entries at hand as long as they follow each other."""

import asyncio
from collections.abc import Sequence

from gateway.news import MAX_HELD, News


def test_entries_that_follow_each_other_are_at_hand() -> None:
    news = News()
    news.offer(3, ["a", "b"], 2)
    news.offer(5, ["c"], 1)

    assert news.take(2) == ["a", "b", "c"]


def test_entries_that_the_reader_has_are_left_out() -> None:
    news = News()
    news.offer(3, ["a", "b"], 2)

    assert news.take(3) == ["b"]


def test_a_gap_before_the_entries_must_be_read_from_the_log() -> None:
    news = News()
    news.offer(3, ["a"], 1)

    assert news.take(1) is None


def test_a_gap_between_the_entries_must_be_read_from_the_log() -> None:
    news = News()
    news.offer(1, ["a"], 1)
    news.offer(3, ["c"], 1)

    assert news.take(0) is None


def test_entries_that_are_all_known_make_the_reader_look() -> None:
    news = News()
    news.offer(1, ["a"], 1)

    assert news.take(7) is None


def test_a_wake_up_without_entries_makes_the_reader_look() -> None:
    news = News()
    news.offer(1, ["a"], 1)
    news.offer(2, (), 0)

    assert news.take(0) is None


def test_what_a_slow_reader_does_not_take_is_not_kept() -> None:
    news = News()
    for number in range(1, 102):
        news.offer(number, ["x" * (MAX_HELD // 100)], MAX_HELD // 100)

    assert news._entries == []
    assert news.take(0) is None


def test_after_a_look_new_entries_are_at_hand_again() -> None:
    news = News()
    news.look()
    news.take(0)

    news.offer(4, ["d"], 1)

    assert news.take(3) == ["d"]


async def test_a_waiting_reader_is_woken_by_entries() -> None:
    news = News()
    waiting = news.wait(60)

    news.offer(1, ["a"], 1)

    assert await waiting is True


async def test_a_reader_with_news_does_not_wait() -> None:
    news = News()
    news.offer(1, ["a"], 1)

    assert await news.wait(60) is True


async def test_a_wait_expires_when_its_time_is_over_and_not_before() -> None:
    news = News()
    now = asyncio.get_running_loop().time()
    waiting = news.wait(60)

    news.expire(now + 59)
    is_over_too_soon = waiting.done()
    news.expire(now + 61)

    assert not is_over_too_soon
    assert await waiting is False


class Taker:
    """Takes entries at once, or leaves them."""

    def __init__(self, *, is_free: bool = True) -> None:
        self._is_free = is_free
        self.taken: list[tuple[int, Sequence[str]]] = []

    def take(self, first: int, entries: Sequence[str]) -> bool:
        if self._is_free:
            self.taken.append((first, entries))
        return self._is_free


async def test_what_is_taken_at_once_wakes_nobody() -> None:
    news, taker = News(), Taker()
    news.take_at_once = taker.take
    waiting = news.wait(60)

    news.offer(1, ["a"], 1)

    assert taker.taken == [(1, ["a"])]
    assert not waiting.done()


async def test_what_is_taken_at_once_puts_the_end_of_the_wait_off() -> None:
    news, loop = News(), asyncio.get_running_loop()
    news.take_at_once = Taker().take
    waiting, begun = news.wait(60), loop.time()

    news.offer(1, ["a"], 1)
    while loop.time() == begun:
        await asyncio.sleep(0)
    news.offer(2, ["b"], 1)
    news.expire(begun + 60)

    assert not waiting.done()


async def test_what_cannot_be_taken_at_once_wakes_the_reader() -> None:
    news = News()
    news.take_at_once = Taker(is_free=False).take
    waiting = news.wait(60)

    news.offer(1, ["a"], 1)

    assert await waiting is True
    assert news.take(0) == ["a"]


async def test_nothing_overtakes_what_waits_for_its_reader() -> None:
    news, taker = News(), Taker()
    news.offer(1, ["a"], 1)
    news.take_at_once = taker.take

    news.offer(2, ["b"], 1)

    assert not taker.taken
    assert news.take(0) == ["a", "b"]
