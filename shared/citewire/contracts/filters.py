"""Conditions on the metadata of documents: typed by the knowledge base's schema, combined by and / or."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    Tag,
    model_validator,
)

from citewire.contracts.model import Input

FieldName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]

# Conditions in the whole filter, groups inside groups, values in one list.
MAX_CONDITIONS: Final = 64
MAX_DEPTH: Final = 8
MAX_VALUES: Final = 1000
# The part of ISO 8601 that Python and Postgres read alike: a date, or date and time, with or without an offset.
DATE_PATTERN: Final = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?(Z|[+-](0[0-9]|1[0-4]):?[0-5][0-9])?)?"
)


def _check_single(value: Any) -> Any:
    # Before the union, whose own error has a line for each of its members.
    if not isinstance(value, bool | int | float | str):
        raise ValueError("must be text, a number, true or false")  # noqa: TRY004 - what pydantic expects
    return value


def _check_values(value: Any) -> Any:
    for item in value if isinstance(value, list | tuple) else (value,):
        _check_single(item)
    return value


Value = Annotated[StrictBool | StrictInt | StrictFloat | StrictStr, BeforeValidator(_check_single)]
Values = Annotated[tuple[Value, ...], Field(max_length=MAX_VALUES)]


class FieldType(StrEnum):
    """What a metadata field holds; a date is an ISO 8601 date or date and time."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"


# Known of every document without a schema.
BUILT_IN_FIELDS: Final[Mapping[str, FieldType]] = {
    "title": FieldType.TEXT,
    "file_name": FieldType.TEXT,
    "document_type": FieldType.TEXT,
}


class Operator(StrEnum):
    """How a field is compared with a value; a document without the field matches none but the two `not_` ones."""

    EQUALS = "equals"
    NOT_EQUALS = "not_equals"
    IN = "in"
    NOT_IN = "not_in"
    GREATER_THAN = "greater_than"
    GREATER_THAN_EQUALS = "greater_than_equals"
    LESS_THAN = "less_than"
    LESS_THAN_EQUALS = "less_than_equals"


LISTS: Final = frozenset({Operator.IN, Operator.NOT_IN})
ORDERS: Final = frozenset(
    {Operator.GREATER_THAN, Operator.GREATER_THAN_EQUALS, Operator.LESS_THAN, Operator.LESS_THAN_EQUALS}
)


class Condition(Input):
    """One field compared with one value, or with several for `in` and `not_in`."""

    field: FieldName
    operator: Operator
    value: Annotated[Value | Values, Field(union_mode="left_to_right"), BeforeValidator(_check_values)]


class _Group(Input):
    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    @property
    def parts(self) -> tuple["Filter", ...]:
        """What this group combines."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _check_depth(self) -> Self:
        # Here and not in check_filter, so that nothing deeper is ever printed, compared or dumped.
        if max(map(_depth, self.parts), default=0) >= MAX_DEPTH:
            raise ValueError(f"groups must not be nested deeper than {MAX_DEPTH}")
        return self


class AllOf(_Group):
    """All parts hold; no part at all holds always."""

    and_: tuple["Filter", ...] = Field(alias="and", max_length=MAX_CONDITIONS)

    @property
    def parts(self) -> tuple["Filter", ...]:
        """What this group combines."""
        return self.and_


class AnyOf(_Group):
    """At least one part holds."""

    or_: tuple["Filter", ...] = Field(alias="or", min_length=1, max_length=MAX_CONDITIONS)

    @property
    def parts(self) -> tuple["Filter", ...]:
        """What this group combines."""
        return self.or_


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "all" if "and" in value else "any" if "or" in value else "condition"
    return "all" if isinstance(value, AllOf) else "any" if isinstance(value, AnyOf) else "condition"


Filter = Annotated[
    Annotated[Condition, Tag("condition")] | Annotated[AllOf, Tag("all")] | Annotated[AnyOf, Tag("any")],
    Discriminator(_kind),
]

AllOf.model_rebuild()
AnyOf.model_rebuild()


def _depth(part: Filter) -> int:
    return 0 if isinstance(part, Condition) else 1 + max(map(_depth, part.parts), default=0)


class FilterProblem(ValueError):  # noqa: N818 - what is wrong with what was sent
    """A filter, metadata or a schema that does not fit; `field` is the path of the wrong value in what was sent."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


def check_schema(schema: dict[str, FieldType]) -> dict[str, FieldType]:
    """The schema itself; raises FilterProblem when it declares a field that every document has."""
    for name in schema:
        if name in BUILT_IN_FIELDS:
            raise FilterProblem(f"metadata_schema.{name}", "is known of every document and can't be declared")
    return schema


MetadataSchema = Annotated[dict[FieldName, FieldType], Field(max_length=100), AfterValidator(check_schema)]


def check_metadata(metadata: Mapping[str, Value], schema: Mapping[str, FieldType], path: str = "metadata") -> None:
    """Raises FilterProblem for a field that the schema lacks, or a value of another type than the field's."""
    for name, value in metadata.items():
        _check_value(value, _type_of(name, schema, f"{path}.{name}"), f"{path}.{name}")


def check_filter(part: Filter, schema: Mapping[str, FieldType], path: str = "filter") -> None:
    """Raises FilterProblem unless every condition fits its field's type, and there are not too many."""
    conditions = list(_conditions(part, path))
    if len(conditions) > MAX_CONDITIONS:
        raise FilterProblem(path, f"must not have more than {MAX_CONDITIONS} conditions")
    fields = {**schema, **BUILT_IN_FIELDS}
    for where, condition in conditions:
        _check_condition(condition, _type_of(condition.field, fields, f"{where}.field"), where)


def _conditions(part: Filter, path: str) -> Iterator[tuple[str, Condition]]:
    if isinstance(part, Condition):
        yield path, part
        return
    name = "and" if isinstance(part, AllOf) else "or"
    for index, inner in enumerate(part.parts):
        yield from _conditions(inner, f"{path}.{name}[{index}]")


def _type_of(name: str, fields: Mapping[str, FieldType], path: str) -> FieldType:
    if name not in fields:
        raise FilterProblem(path, f"unknown field {name!r}; known are: {', '.join(sorted(fields)) or 'none'}")
    return fields[name]


def _check_condition(condition: Condition, field_type: FieldType, path: str) -> None:
    if condition.operator in ORDERS and field_type is FieldType.BOOLEAN:
        raise FilterProblem(f"{path}.operator", "true and false have no order")
    value = condition.value
    if condition.operator not in LISTS:
        if isinstance(value, tuple):
            raise FilterProblem(f"{path}.value", f"{condition.operator} takes a single value")
        _check_value(value, field_type, f"{path}.value")
    elif not isinstance(value, tuple) or not value:
        raise FilterProblem(f"{path}.value", f"{condition.operator} takes a list of at least one value")
    else:
        for index, item in enumerate(value):
            _check_value(item, field_type, f"{path}.value[{index}]")


def _check_value(value: Value, field_type: FieldType, path: str) -> None:
    if not _CHECKS[field_type](value):
        raise FilterProblem(path, _MUST_BE[field_type])


def _is_number(value: Value) -> bool:
    # The comparison is false for NaN, too.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _is_text(value: Value) -> bool:
    return isinstance(value, str) and re.search("[\x00\ud800-\udfff]", value) is None


def _is_date(value: Value) -> bool:
    try:
        return isinstance(value, str) and parse_date(value) is not None
    except ValueError:
        return False


_CHECKS: Final[Mapping[FieldType, Callable[[Value], bool]]] = {
    FieldType.TEXT: _is_text,
    FieldType.NUMBER: _is_number,
    FieldType.BOOLEAN: lambda value: isinstance(value, bool),
    FieldType.DATE: _is_date,
}
_MUST_BE: Final[Mapping[FieldType, str]] = {
    FieldType.TEXT: "must be text, without NUL and lone surrogates",
    FieldType.NUMBER: "must be a finite number, at most 1.8e308",
    FieldType.BOOLEAN: "must be true or false",
    FieldType.DATE: "must be an ISO 8601 date (2026-11-30) or date and time (2026-11-30T08:15:00Z)",
}


def parse_date(text: str) -> datetime:
    """The moment that a date names; one without a time is its start, one without an offset is UTC.

    Raises ValueError for what is not an ISO 8601 date, or date and time.
    """
    if re.fullmatch(DATE_PATTERN, text) is None:
        raise ValueError("not an ISO 8601 date")
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
