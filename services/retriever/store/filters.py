"""Filters as conditions of SQL statements: what came from outside is always a parameter, never text."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final

from citewire.contracts.filters import (
    BUILT_IN_FIELDS,
    DATE_PATTERN,
    AllOf,
    Condition,
    FieldType,
    Filter,
    Operator,
    Value,
    parse_date,
)

_OPERATORS: Final[Mapping[Operator, str]] = {
    Operator.EQUALS: "{field} = {value}",
    Operator.NOT_EQUALS: "({field} = {value}) IS NOT TRUE",
    Operator.IN: "{field} = ANY({value})",
    Operator.NOT_IN: "({field} = ANY({value})) IS NOT TRUE",
    Operator.GREATER_THAN: "{field} > {value}",
    Operator.GREATER_THAN_EQUALS: "{field} >= {value}",
    Operator.LESS_THAN: "{field} < {value}",
    Operator.LESS_THAN_EQUALS: "{field} <= {value}",
}
# Dates go as text, because a moment before the year 1 (0001-01-01 east of Greenwich) is none to Python.
_SENT_AS: Final[Mapping[FieldType, str]] = {
    FieldType.TEXT: "::text{list}",
    FieldType.NUMBER: "::numeric{list}",
    FieldType.BOOLEAN: "::boolean{list}",
    FieldType.DATE: "::text{list}::timestamptz{list}",
}


class _Parameters:
    def __init__(self, first: int) -> None:
        self._first = first
        self.values: list[object] = []

    def add(self, value: object) -> str:
        """The placeholder that stands for a value."""
        self.values.append(value)
        return f"${self._first + len(self.values) - 1}"


def filter_condition(part: Filter, schema: Mapping[str, FieldType], first_parameter: int) -> tuple[str, list[object]]:
    """A condition on `knowledge.documents d`, and the values of its parameters, numbered from `first_parameter`.

    The filter must have passed `check_filter` with this schema. Needs Postgres 16.
    """
    parameters = _Parameters(first_parameter)
    return _combined(part, schema, parameters), parameters.values


def _combined(part: Filter, schema: Mapping[str, FieldType], parameters: _Parameters) -> str:
    if isinstance(part, Condition):
        return _compared(part, schema, parameters)
    word, empty = (" AND ", "true") if isinstance(part, AllOf) else (" OR ", "false")
    return f"({word.join(_combined(inner, schema, parameters) for inner in part.parts) or empty})"


def _compared(condition: Condition, schema: Mapping[str, FieldType], parameters: _Parameters) -> str:
    name = condition.field
    if name in BUILT_IN_FIELDS:
        field_type, field = BUILT_IN_FIELDS[name], _COLUMNS[name]
    else:
        field_type = schema[name]
        field = _FIELDS[field_type](f"{parameters.add(name)}::text")
    return _OPERATORS[condition.operator].format(field=field, value=_sent(condition.value, field_type, parameters))


def _sent(value: Value | tuple[Value, ...], field_type: FieldType, parameters: _Parameters) -> str:
    if isinstance(value, tuple):
        placeholder = parameters.add([_converted(item, field_type) for item in value])
        return placeholder + _SENT_AS[field_type].format(list="[]")
    return parameters.add(_converted(value, field_type)) + _SENT_AS[field_type].format(list="")


def _converted(value: Value, field_type: FieldType) -> object:
    if field_type is FieldType.NUMBER:
        # By the shortest decimal form, which is what was written and what jsonb holds.
        return Decimal(str(value))
    return parse_date(str(value)).isoformat() if field_type is FieldType.DATE else value


# The value of a field by its type: NULL in a document that lacks it, and for what only an earlier schema allowed.
# CASE, because it alone keeps a cast from seeing what it can't read.


def _text(name: str) -> str:
    return f"""(CASE jsonb_typeof(d.metadata -> {name}) WHEN 'string' THEN d.metadata ->> {name} END COLLATE "C")"""


def _number(name: str) -> str:
    return f"CASE jsonb_typeof(d.metadata -> {name}) WHEN 'number' THEN (d.metadata -> {name})::numeric END"


def _boolean(name: str) -> str:
    return f"CASE jsonb_typeof(d.metadata -> {name}) WHEN 'boolean' THEN (d.metadata -> {name})::boolean END"


def _date(name: str) -> str:
    text = f"(d.metadata ->> {name})"
    zone = f"CASE WHEN {text} ~ '(Z|[+-]..:?..)$' THEN '' ELSE ' UTC' END"
    is_date = f"{text} ~ '^{DATE_PATTERN}$' AND pg_input_is_valid({text}, 'timestamptz')"
    return f"CASE WHEN {is_date} THEN ({text} || {zone})::timestamptz END"


_FIELDS: Final[Mapping[FieldType, Callable[[str], str]]] = {
    FieldType.TEXT: _text,
    FieldType.NUMBER: _number,
    FieldType.BOOLEAN: _boolean,
    FieldType.DATE: _date,
}
_COLUMNS: Final[Mapping[str, str]] = {name: f'(d.{name} COLLATE "C")' for name in BUILT_IN_FIELDS}
