import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from citewire.runtime.model.failures import Failure
from citewire.runtime.model.statuses import status_failed


@pytest.mark.parametrize(
    ("status", "failure", "may_pass"),
    [
        (307, Failure.REFUSED_REQUEST, False),
        (400, Failure.REFUSED_REQUEST, False),
        (401, Failure.UNAUTHORISED, False),
        (402, Failure.REFUSED_REQUEST, False),
        (403, Failure.FORBIDDEN, False),
        (404, Failure.NO_MODEL, False),
        (408, Failure.TIMEOUT, True),
        (409, Failure.REFUSED_REQUEST, True),
        (413, Failure.TOO_LONG, False),
        (429, Failure.RATE_LIMITED, True),
        (500, Failure.SERVER, True),
        (503, Failure.SERVER, True),
        (599, Failure.SERVER, True),
    ],
)
def test_each_status_is_a_failure_that_may_pass_or_not(status, failure, may_pass):
    failed = status_failed("main", status, {}, b"")

    assert (failed.failure, failed.may_pass) == (failure, may_pass)
    assert str(failed).startswith(f"the model provider main answered {status}")


def test_the_text_names_provider_status_and_meaning():
    assert str(status_failed("main", 429, {}, b"")) == "the model provider main answered 429 (too many requests)"
    assert str(status_failed("main", 599, {}, b"")) == "the model provider main answered 599"


@pytest.mark.parametrize(
    "error", [{"code": "context_length_exceeded"}, {"message": "the request exceeds the available context size"}]
)
def test_a_request_that_is_too_long_is_told_from_a_bad_one(error):
    assert status_failed("main", 400, {}, json.dumps({"error": error}).encode()).failure is Failure.TOO_LONG
    assert status_failed("main", 400, {}, json.dumps(error).encode()).failure is Failure.TOO_LONG


def test_a_quota_that_is_used_up_will_not_pass():
    failed = status_failed("main", 429, {}, b'{"error": {"code": "insufficient_quota"}}')

    assert (failed.failure, failed.may_pass) == (Failure.RATE_LIMITED, False)
    assert str(failed) == "the model provider main answered 429 (the quota is used up)"


@pytest.mark.parametrize(
    "body", [b"", b"\xff", b"[1]", b'"x"', b"null", b'{"error": null}', b'{"error": ["SECRET"]}', b"<html>SECRET"]
)
def test_a_body_of_any_kind_adds_nothing_to_the_text(body):
    assert str(status_failed("main", 400, {}, body)) == "the model provider main answered 400 (bad request)"


@pytest.mark.parametrize(
    ("value", "seconds"), [("7", 7.0), ("0", 0.0), ("soon", None), ("-5", None), ("", None), ("٣", None)]
)
def test_retry_after_is_a_number_of_seconds(value, seconds):
    assert status_failed("main", 429, {"retry-after": value}, b"").retry_after == seconds


@pytest.mark.parametrize("zone", ["GMT", "-0000"])
def test_retry_after_may_be_a_date(zone):
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=30)).replace("+0000", zone)

    failed = status_failed("main", 503, {"retry-after": date}, b"")

    assert failed.retry_after == pytest.approx(29.5, abs=5)


def test_a_date_that_has_passed_asks_for_no_wait():
    assert status_failed("main", 503, {"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, b"").retry_after == 0
