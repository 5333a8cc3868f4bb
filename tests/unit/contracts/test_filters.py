"""Which filters, metadata and schemas are accepted, and how the others are refused."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from citewire.contracts.filters import (
    MAX_CONDITIONS,
    MAX_DEPTH,
    FieldType,
    Filter,
    FilterProblem,
    MetadataSchema,
    Operator,
    check_filter,
    check_metadata,
    parse_date,
)

FILTER: TypeAdapter[Filter] = TypeAdapter(Filter)
SCHEMA = {
    "author": FieldType.TEXT,
    "year": FieldType.NUMBER,
    "public": FieldType.BOOLEAN,
    "issued": FieldType.DATE,
}
CONDITION = {"field": "year", "operator": "equals", "value": 2024}


def condition(field: str, operator: str, value: Any) -> Filter:
    return FILTER.validate_python({"field": field, "operator": operator, "value": value})


def problem_of(part: Any) -> FilterProblem:
    with pytest.raises(FilterProblem) as caught:
        check_filter(FILTER.validate_python(part), SCHEMA)
    return caught.value


def nested(levels: int) -> dict[str, Any]:
    part: dict[str, Any] = CONDITION
    for _ in range(levels):
        part = {"and": [part]}
    return part


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("author", ""),
        ("author", "<|endoftext|> %s {0} '; --"),
        ("author", "😀𐀀שלום"),
        ("year", 0),
        ("year", 2**70),
        ("year", -1.5e300),
        ("public", False),
        ("issued", "2024-02-29"),
        ("issued", "2024-02-29T23:59"),
        ("issued", "2024-02-29 23:59:59.123456Z"),
        ("issued", "0001-01-01T00:00:00+14:00"),
        ("title", "Minutes"),
        ("file_name", "a.pdf"),
        ("document_type", "pdf"),
    ],
)
def test_a_value_of_the_fields_type_is_accepted(field: str, value: Any) -> None:
    check_filter(condition(field, "equals", value), SCHEMA)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("author", 1),
        ("author", True),
        ("author", "a\0b"),
        ("author", "\ud800"),
        ("year", "2024"),
        ("year", True),
        ("year", float("nan")),
        ("year", float("-inf")),
        ("year", 10**400),
        ("public", 1),
        ("public", "true"),
        ("issued", 2024),
        ("issued", "2024"),
        ("issued", "2024-02-30"),
        ("issued", "2023-02-29"),
        ("issued", "0000-01-01"),
        ("issued", "2024-1-1"),
        ("issued", "20240101"),
        ("issued", "2024-W01-1"),
        ("issued", "2024-01-01T00:00+23:00"),
        ("issued", "2024-01-01T00:00 Europe/Berlin"),
        ("issued", "2024-01-01\n"),
        ("issued", "２０２４-01-01"),
        ("issued", "now"),
        ("issued", "infinity"),
        ("title", 7),
    ],
)
def test_a_value_of_another_type_is_a_problem_at_the_value(field: str, value: Any) -> None:
    problem = problem_of({"and": [{"field": field, "operator": "not_equals", "value": value}]})

    assert problem.field == "filter.and[0].value"


def test_e08_an_unknown_field_is_a_problem_that_names_the_known_ones() -> None:
    problem = problem_of({"or": [CONDITION, {"field": "yeer", "operator": "equals", "value": 1}]})

    assert problem.field == "filter.or[1].field"
    assert problem.message == (
        "unknown field 'yeer'; known are: author, document_type, file_name, issued, public, title, year"
    )


@pytest.mark.parametrize("operator", ["in", "not_in"])
@pytest.mark.parametrize("value", [2024, []])
def test_a_list_operator_needs_a_list_that_is_not_empty(operator: str, value: Any) -> None:
    assert problem_of({"field": "year", "operator": operator, "value": value}).field == "filter.value"


def test_a_wrong_value_in_a_list_is_named_by_its_place() -> None:
    problem = problem_of({"field": "year", "operator": "in", "value": [2023, "2024"]})

    assert problem.field == "filter.value[1]"


@pytest.mark.parametrize("operator", sorted(set(Operator) - {"in", "not_in"}))
def test_the_other_operators_need_a_single_value(operator: str) -> None:
    assert problem_of({"field": "year", "operator": operator, "value": [2024]}).field == "filter.value"


@pytest.mark.parametrize("operator", ["greater_than", "greater_than_equals", "less_than", "less_than_equals"])
def test_true_and_false_have_no_order(operator: str) -> None:
    assert problem_of({"field": "public", "operator": operator, "value": True}).field == "filter.operator"


def test_the_path_starts_where_the_caller_says() -> None:
    with pytest.raises(FilterProblem) as caught:
        check_filter(condition("year", "equals", "x"), SCHEMA, "filters.handbook")

    assert caught.value.field == "filters.handbook.value"


def test_as_many_conditions_as_allowed_are_accepted() -> None:
    half = {"or": [CONDITION] * (MAX_CONDITIONS // 2)}

    check_filter(FILTER.validate_python({"and": [half, half]}), SCHEMA)


def test_conditions_are_counted_in_all_groups_together() -> None:
    half = {"or": [CONDITION] * (MAX_CONDITIONS // 2)}

    assert problem_of({"and": [half, half, CONDITION]}).field == "filter"


def test_groups_may_be_nested_as_deep_as_allowed() -> None:
    check_filter(FILTER.validate_python(nested(MAX_DEPTH)), SCHEMA)


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 200, 10_000])
def test_groups_nested_deeper_are_refused_in_python_values(levels: int) -> None:
    with pytest.raises(ValidationError) as caught:
        FILTER.validate_python(nested(levels))

    assert len(str(caught.value)) < 10_000


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 200, 10_000])
def test_groups_nested_deeper_are_refused_in_json(levels: int) -> None:
    text = '{"and":[' * levels + json.dumps(CONDITION) + "]}" * levels

    with pytest.raises(ValidationError):
        FILTER.validate_json(text)


@pytest.mark.parametrize("value", [None, {}, [[1]], [{}], {"a": 1}])
def test_what_is_no_value_at_all_gives_one_error(value: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        condition("year", "equals", value)

    assert caught.value.error_count() == 1


@pytest.mark.parametrize(
    "part",
    [
        [],
        "x",
        {},
        {"and": [], "or": []},
        {"or": []},
        {**CONDITION, "field": "a'; drop table x; --"},
        {**CONDITION, "field": "Jahr"},
        {**CONDITION, "field": "year\n"},
        {**CONDITION, "operator": "like"},
        {**CONDITION, "extra": 1},
    ],
)
def test_another_shape_is_refused(part: Any) -> None:
    with pytest.raises(ValidationError):
        FILTER.validate_python(part)


def test_a_filter_survives_json() -> None:
    part = FILTER.validate_python({"and": [{"or": [CONDITION]}, {**CONDITION, "operator": "in", "value": [1, 2.5]}]})

    assert FILTER.validate_json(FILTER.dump_json(part)) == part


def test_metadata_that_fits_its_schema_is_accepted() -> None:
    check_metadata({"author": "W", "year": 2024, "public": False, "issued": "2024-05-01"}, SCHEMA)


@pytest.mark.parametrize("metadata", [{"year": "2024"}, {"yeer": 2024}, {"title": "taken from the file"}])
def test_metadata_that_does_not_fit_is_a_problem_at_its_field(metadata: dict[str, Any]) -> None:
    with pytest.raises(FilterProblem) as caught:
        check_metadata(metadata, SCHEMA)

    assert caught.value.field == f"metadata.{next(iter(metadata))}"


def test_a_schema_may_not_declare_a_field_that_every_document_has() -> None:
    with pytest.raises(ValidationError, match=r"metadata_schema\.title"):
        TypeAdapter(MetadataSchema).validate_python({"year": "number", "title": "text"})


def test_a_date_without_time_and_offset_is_the_start_of_the_day_in_utc() -> None:
    assert parse_date("2024-05-01") == parse_date("2024-05-01T02:00+02:00")
