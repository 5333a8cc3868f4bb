import pytest

from citewire.contracts.provenance import Usage
from citewire.runtime.model.usage import add, has_read_less, may_have_read_less, read_usage

ENGLISH = "The service level is 99.9 percent per month, measured at the gateway. " * 40
CHINESE = "服务等级为每月百分之九十九点九，在网关处测量。" * 60


def test_usage_of_both_protocols_is_read():
    chat = {"prompt_tokens": 9, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 2}}
    response = {"input_tokens": 9, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 2}}

    assert read_usage(chat) == read_usage(response) == Usage(input_tokens=9, output_tokens=5, reasoning_tokens=2)


@pytest.mark.parametrize(
    "told",
    [
        {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}},
        {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}},
        {"prompt_tokens": 9, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 5},
        {"prompt_tokens": 9, "prompt_cache_hit_tokens": 4, "prompt_tokens_details": {"cached_tokens": None}},
    ],
)
def test_tokens_from_a_providers_cache_are_read(told):
    assert read_usage(told) == Usage(input_tokens=9, cached_tokens=4)


@pytest.mark.parametrize("odd", [None, -1, "9", 1.5, 10**30, [], {}])
def test_odd_counts_are_none(odd):
    told = {"input_tokens": odd, "output_tokens": 5, "output_tokens_details": odd, "input_tokens_details": odd}
    told["prompt_cache_hit_tokens"] = odd

    assert read_usage(told) == Usage(output_tokens=5)


def test_a_usage_of_before_cached_tokens_were_counted_is_still_read():
    stored = '{"input_tokens": 9, "output_tokens": 5, "reasoning_tokens": 2, "requests": 1}'

    assert Usage.model_validate_json(stored).cached_tokens == 0


@pytest.mark.parametrize("odd", [None, 5, "x", []])
def test_what_is_no_object_is_no_usage(odd):
    assert read_usage(odd) is None


def test_usages_of_several_tries_add_up():
    one = Usage(input_tokens=1, cached_tokens=1, output_tokens=2, reasoning_tokens=3, requests=1)

    assert add(None, one) == one
    assert add(one, one) == Usage(input_tokens=2, cached_tokens=2, output_tokens=4, reasoning_tokens=6, requests=2)


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_f06_a_provider_that_read_less_than_half_is_noticed(text):
    told = Usage(input_tokens=100)

    assert may_have_read_less([text], told)
    assert has_read_less([text], told)


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_f06_nothing_is_counted_for_a_provider_that_read_all(text):
    assert not may_have_read_less([text], Usage(input_tokens=len(text.encode()) // 5))


def test_f06_a_few_tokens_less_are_no_sign():
    assert not has_read_less(["word " * 150], Usage(input_tokens=10))
