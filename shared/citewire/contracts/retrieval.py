"""How a knowledge base is searched: what is returned, how legs are weighed, how segments are cut."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from citewire.contracts.model import Input


class RseParams(BaseModel):
    """Parameters of relevant segment extraction, as its authors name them; the defaults are `balanced`.

    Lengths count chunks; values and the penalty are in units of similarity. The penalty is never 0, so that
    segments begin and end with chunks that a query found.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    max_length: int = Field(default=15, ge=1, le=1000)
    overall_max_length: int = Field(default=30, ge=1, le=10_000)
    overall_max_length_extension: int = Field(default=5, ge=0, le=1000)
    minimum_value: float = Field(default=0.5, ge=0, le=1000)
    irrelevant_chunk_penalty: float = Field(default=0.18, ge=0.001, le=1)
    decay_rate: float = Field(default=30, gt=0, le=1_000_000)
    top_k_for_document_selection: int = Field(default=10, ge=1, le=200)
    chunk_length_adjustment: bool = True


RSE_PRESETS: Final[Mapping[str, RseParams]] = {
    "balanced": RseParams(),
    "precision": RseParams(minimum_value=0.7, irrelevant_chunk_penalty=0.2),
    "find_all": RseParams(
        max_length=40,
        overall_max_length=200,
        overall_max_length_extension=0,
        minimum_value=0.4,
        decay_rate=200,
        top_k_for_document_selection=200,
    ),
}


def resolve_rse_params(*choices: str | Mapping[str, Any]) -> RseParams:
    """The parameters that several levels choose together, the most general first.

    A preset replaces all, single values replace themselves. Raises ValueError that names what is wrong.
    """
    params = RseParams()
    for choice in choices:
        if not isinstance(choice, str):
            params = _changed(params, choice) if choice else params
        elif choice in RSE_PRESETS:
            params = RSE_PRESETS[choice]
        else:
            raise ValueError(f"{choice[:60]!r} is none of the presets {', '.join(RSE_PRESETS)}")
    return params


def _changed(params: RseParams, values: Mapping[str, Any]) -> RseParams:
    try:
        return RseParams.model_validate({**params.model_dump(), **values})
    except ValidationError as error:
        raise ValueError(_complaint(error)) from error


def _complaint(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    name = repr(first["loc"][0])[:60]
    if first["type"] == "extra_forbidden":
        return f"{name} is none of the parameters {', '.join(RseParams.model_fields)}"
    return f"{name}: {first['msg']}"


def _check_rse_params(choice: str | dict[str, Any]) -> str | dict[str, Any]:
    resolve_rse_params(choice)
    return choice


RseChoice = Annotated[str | dict[str, Any], AfterValidator(_check_rse_params)]


class RetrievalMode(StrEnum):
    """What is returned: relevant segments, the parent (up to 1,200 characters) of a chunk, or chunks."""

    RSE = "rse"
    PARENT_CHILD = "parent_child"
    CHUNKS = "chunks"


class RetrievalSettings(Input):
    """A knowledge base's own settings; weights are the vectors' share of the fused score, the words have the rest.

    `time_limit` bounds in seconds how long a question waits for this knowledge base; None: as long as for any.
    """

    mode: RetrievalMode = RetrievalMode.RSE
    rse_params: RseChoice = Field(default_factory=dict)
    # For a question that the words fit as usual: the worse they do, the more the vectors count. 0 and 1 hold for all.
    dense_weight: float = Field(default=0.4, ge=0, le=1)
    # For a question in another script than the knowledge base, which shares few words with it.
    cross_script_dense_weight: float = Field(default=0.8, ge=0, le=1)
    time_limit: float | None = Field(default=None, ge=0.05, le=60)
