"""What came for one reader: entries at hand as long as they follow each other."""

import asyncio

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
