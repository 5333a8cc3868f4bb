"""The guarantees under every fault once; `make chaos` is the long form."""

import pytest

from chaos.report import Report

pytestmark = pytest.mark.timeout(300)


def test_every_accepted_question_ends_once_with_one_text_everywhere(report: Report) -> None:
    assert report.violations == []


def test_the_run_was_worth_its_name(report: Report) -> None:
    assert len(report.asked) >= 40
    assert sum(asked.resumed for asked in report.asked) >= 10
