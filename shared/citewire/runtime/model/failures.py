"""Why a model gave no answer, or no whole one."""

from enum import StrEnum


class Failure(StrEnum):
    """What went wrong between us and a provider.

    no_model: 404, the model or the address. too_long: more than the model's context. refused_request: any other 4xx,
    and redirects, which are never followed. cut: the stream broke off. invalid: not the protocol. reported: an error
    that the provider told of inside a stream that had begun well. length, content_filter, refusal and empty come with
    a stream that ended as it should.
    """

    UNREACHABLE = "unreachable"
    UNAUTHORISED = "unauthorised"
    FORBIDDEN = "forbidden"
    NO_MODEL = "no_model"
    TOO_LONG = "too_long"
    RATE_LIMITED = "rate_limited"
    SERVER = "server"
    REFUSED_REQUEST = "refused_request"
    TIMEOUT = "timeout"
    CUT = "cut"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    REFUSAL = "refusal"
    EMPTY = "empty"
    INVALID = "invalid"
    REPORTED = "reported"


class ModelFailed(Exception):  # noqa: N818 - what became of a call, not a bug of ours
    """A call that ended without a whole answer.

    Its text is one plain sentence of the provider's name and the cause, as "the model provider main answered 404 (not
    found)". Neither the key nor any of the server's own words are in it. `retry_after`: seconds that the provider asked
    to wait, if it did. `may_pass`: whether the same call may well succeed a moment later.
    """

    def __init__(
        self,
        provider: str,
        failure: Failure,
        cause: str,
        *,
        retry_after: float | None = None,
        may_pass: bool = False,
    ) -> None:
        super().__init__(f"the model provider {provider} {cause}")
        self.failure = failure
        self.retry_after = retry_after
        self.may_pass = may_pass
