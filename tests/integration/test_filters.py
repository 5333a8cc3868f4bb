"""Filters in real Postgres select exactly the documents that a plain evaluation in Python selects."""

import json
import operator
import random
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from pydantic import TypeAdapter

from citewire.contracts.filters import (
    BUILT_IN_FIELDS,
    AllOf,
    Condition,
    FieldType,
    Filter,
    FilterProblem,
    Operator,
    check_filter,
    check_metadata,
    parse_date,
)
from citewire.runtime.database import Database, open_database
from citewire.runtime.migrations import apply_migrations
from embedded.servers import ServerUrls
from retriever.app import MIGRATIONS
from retriever.store.filters import filter_condition

FILTER: TypeAdapter[Filter] = TypeAdapter(Filter)
SCHEMA = {
    "author": FieldType.TEXT,
    "year": FieldType.NUMBER,
    "public": FieldType.BOOLEAN,
    "issued": FieldType.DATE,
}
# Few and close to each other, so that every comparison has documents on both of its sides.
VALUES: Mapping[FieldType, list[Any]] = {
    FieldType.TEXT: [
        "",
        "a",
        "A",
        "Z",
        "ä",
        "a'; DROP TABLE knowledge.kbs; --",
        "$1",
        "%",
        "\\",
        "标准",
        "😀",
        "\uffff",
        "𐀀",
    ],
    FieldType.NUMBER: [0, -0.0, 1, 1.0, 0.1, 0.30000000000000004, 0.3, -7, 2**53, 2**53 + 1, 10**30, 1e300, 5e-324],
    FieldType.BOOLEAN: [True, False],
    FieldType.DATE: [
        "2024-02-29",
        "2024-02-29T00:00Z",
        "2024-02-29T00:00:00+02:00",
        "2024-02-28 22:00:00.000000",
        "2024-02-28T22:00:00.000001Z",
        "2024-02-29T00:00:00-1130",
        "0001-01-01T00:00:00+14:00",
        "0001-01-01",
        "9999-12-31T23:59:59.999999-14:00",
    ],
}
# What an earlier schema, or an earlier version of this program, may have left in the metadata.
STRAYS = [
    None,
    [],
    {},
    [1],
    {"a": 1},
    True,
    7,
    "x",
    "2024-02-30",
    "0000-01-01",
    "2024-02-29x",
    "now",
    "NaN",
    "true",
    "1",
]
ORDERS: Mapping[Operator, Callable[[Any, Any], bool]] = {
    Operator.GREATER_THAN: operator.gt,
    Operator.GREATER_THAN_EQUALS: operator.ge,
    Operator.LESS_THAN: operator.lt,
    Operator.LESS_THAN_EQUALS: operator.le,
}


@dataclass
class Stored:
    """A document as the reference sees it."""

    metadata: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    file_name: str = ""
    document_type: str = ""
    doc_id: UUID = field(default_factory=uuid4)


class Shelf:
    """Documents of one knowledge base, and the filters asked of them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put(self, *documents: Stored) -> None:
        await self._database.execute("DELETE FROM knowledge.kbs")
        await self._database.execute(
            """
            WITH kb AS (
                INSERT INTO knowledge.kbs (kb_id, title, description, language) VALUES ('kb', '', '', '')
                RETURNING kb_uid
            )
            INSERT INTO knowledge.documents
                (doc_id, kb_uid, file_name, title, document_type, metadata, newest, upload, status)
            SELECT doc_id, kb_uid, file_name, title, document_type, metadata::jsonb, 1, '', 'indexed'
            FROM kb, unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
                AS d(doc_id, file_name, title, document_type, metadata)
            """,
            [document.doc_id for document in documents],
            [document.file_name or str(document.doc_id) for document in documents],
            [document.title for document in documents],
            [document.document_type for document in documents],
            [json.dumps(document.metadata) for document in documents],
        )

    async def matching(self, part: Filter, schema: Mapping[str, FieldType] = SCHEMA) -> set[UUID]:
        """Also proves that parameters before the filter's own stay where they are."""
        check_filter(part, schema)
        condition, values = filter_condition(part, schema, 2)
        statement = f"SELECT d.doc_id FROM knowledge.documents d WHERE d.upload = $1 AND {condition}"  # noqa: S608 - what is tested
        return {row["doc_id"] for row in await self._database.rows(statement, "", *values)}


@pytest.fixture(scope="module")
def migrated(servers: ServerUrls) -> Iterator[str]:
    name = f"filters_{uuid4().hex}"
    dsn = servers.postgres.rpartition("/")[0] + f"/{name}"
    with psycopg.connect(servers.postgres, autocommit=True) as admin:
        admin.execute(f'create database "{name}"')
        apply_migrations(dsn, "knowledge", MIGRATIONS)
        # The session's time zone and order of day and month may not matter.
        admin.execute(f"""alter database "{name}" set timezone to 'Asia/Tokyo'""")
        admin.execute(f"""alter database "{name}" set datestyle to 'SQL, DMY'""")
        yield dsn
        admin.execute(f'drop database "{name}" with (force)')


@pytest.fixture
async def shelf(migrated: str) -> AsyncGenerator[Shelf]:
    async with open_database(migrated) as database:
        yield Shelf(database)


def comparable(value: Any, field_type: FieldType) -> Any:
    if field_type is FieldType.NUMBER:
        return Decimal(repr(value))
    return parse_date(value) if field_type is FieldType.DATE else value


def value_of(document: Stored, name: str) -> Any:
    """The value as it compares; None: not there, or not of the field's type."""
    if name in BUILT_IN_FIELDS:
        return getattr(document, name)
    try:
        check_metadata({name: document.metadata[name]}, SCHEMA)
    except (KeyError, FilterProblem, TypeError):
        return None
    return comparable(document.metadata[name], SCHEMA[name])


def holds(part: Filter, document: Stored) -> bool:
    if not isinstance(part, Condition):
        parts = (holds(inner, document) for inner in part.parts)
        return all(parts) if isinstance(part, AllOf) else any(parts)
    value = value_of(document, part.field)
    field_type = {**SCHEMA, **BUILT_IN_FIELDS}[part.field]
    asked = part.value if isinstance(part.value, tuple) else (part.value,)
    others = [comparable(item, field_type) for item in asked]
    if part.operator in ORDERS:
        return value is not None and ORDERS[part.operator](value, others[0])
    return (value in others) == (part.operator in {Operator.EQUALS, Operator.IN})


def seeded(seed: int | str) -> random.Random:
    return random.Random(seed)  # noqa: S311 - the same documents in each run


def random_document(chance: random.Random) -> Stored:
    metadata: dict[str, Any] = {}
    for name, field_type in SCHEMA.items():
        kind = chance.random()
        if kind < 0.7:
            metadata[name] = chance.choice(VALUES[field_type])
        elif kind < 0.85:
            metadata[name] = chance.choice(STRAYS)
    text = VALUES[FieldType.TEXT]
    return Stored(metadata, title=chance.choice(text), document_type=chance.choice(text))


def random_condition(chance: random.Random, field_name: str, comparison: Operator) -> dict[str, Any]:
    values = VALUES[{**SCHEMA, **BUILT_IN_FIELDS}[field_name]]
    value = chance.choices(values, k=3) if comparison in {Operator.IN, Operator.NOT_IN} else chance.choice(values)
    return {"field": field_name, "operator": comparison, "value": value}


def random_filter(chance: random.Random, depth: int) -> dict[str, Any]:
    if depth == 0 or chance.random() < 0.3:
        name = chance.choice([*SCHEMA, "title", "document_type"])
        allowed = [o for o in Operator if name != "public" or o not in ORDERS]
        return random_condition(chance, name, chance.choice(allowed))
    inner = [random_filter(chance, depth - 1) for _ in range(chance.randint(1, 3))]
    return {chance.choice(["and", "or"]): inner}


COMPARISONS = [
    (name, comparison)
    for name in (*SCHEMA, "title")
    for comparison in Operator
    if name != "public" or comparison not in ORDERS
]


@pytest.mark.parametrize(("name", "comparison"), COMPARISONS)
async def test_e08_a_comparison_selects_what_python_selects(shelf: Shelf, name: str, comparison: Operator) -> None:
    chance = seeded(f"{name} {comparison}")
    documents = [random_document(chance) for _ in range(150)]
    await shelf.put(*documents)

    filters = [FILTER.validate_python(random_condition(chance, name, comparison)) for _ in range(25)]

    for part in filters:
        assert await shelf.matching(part) == {d.doc_id for d in documents if holds(part, d)}, part


@pytest.mark.parametrize("seed", range(8))
async def test_groups_within_groups_select_what_python_selects(shelf: Shelf, seed: int) -> None:
    chance = seeded(seed)
    documents = [random_document(chance) for _ in range(150)]
    await shelf.put(*documents)

    filters = [FILTER.validate_python(random_filter(chance, 3)) for _ in range(15)]

    for part in filters:
        assert await shelf.matching(part) == {d.doc_id for d in documents if holds(part, d)}, part


@pytest.mark.parametrize("comparison", list(Operator))
async def test_a_document_without_the_field_matches_the_negative_operators_only(
    shelf: Shelf, comparison: Operator
) -> None:
    document = Stored()
    await shelf.put(document)
    value = [2024] if comparison in {Operator.IN, Operator.NOT_IN} else 2024

    found = await shelf.matching(Condition(field="year", operator=comparison, value=value))

    is_negative = comparison in {Operator.NOT_EQUALS, Operator.NOT_IN}
    assert found == ({document.doc_id} if is_negative else set())


@pytest.mark.parametrize("stray", STRAYS, ids=repr)
@pytest.mark.parametrize("field_type", list(FieldType))
async def test_a_value_of_a_type_that_the_schema_no_longer_has_breaks_no_query(
    shelf: Shelf, stray: Any, field_type: FieldType
) -> None:
    document = Stored({"f": VALUES[field_type][0]})
    await shelf.put(Stored({"f": stray}), document)

    found = await shelf.matching(
        Condition(field="f", operator=Operator.EQUALS, value=VALUES[field_type][0]), {"f": field_type}
    )

    assert document.doc_id in found


@pytest.mark.parametrize("value", VALUES[FieldType.TEXT])
async def test_text_of_any_kind_is_a_value_and_never_part_of_the_query(shelf: Shelf, value: str) -> None:
    document = Stored({"author": value}, title=value)
    await shelf.put(document, Stored({"author": "another"}, title="another"))

    for name in ("author", "title"):
        assert await shelf.matching(Condition(field=name, operator=Operator.EQUALS, value=value)) == {document.doc_id}


async def test_a_hostile_field_name_in_the_stored_metadata_is_plain_data(shelf: Shelf) -> None:
    document = Stored({"x' = 'x') OR true --": 1, "$2": 2, "year": 3})
    await shelf.put(document)

    assert await shelf.matching(Condition(field="year", operator=Operator.EQUALS, value=3)) == {document.doc_id}
    assert await shelf.matching(Condition(field="year", operator=Operator.EQUALS, value=1)) == set()


@pytest.mark.parametrize("name", ["author", "title"])
def test_text_is_ordered_by_code_points_whatever_the_order_of_the_database_is(name: str) -> None:
    # Read from the statement, because the embedded server knows no other order.
    condition, _ = filter_condition(Condition(field=name, operator=Operator.LESS_THAN, value="Z"), SCHEMA, 1)

    assert 'COLLATE "C") < $' in condition


def test_no_text_from_the_filter_is_in_the_statement() -> None:
    part = FILTER.validate_python(
        {
            "and": [
                {"field": "secret_name", "operator": "in", "value": ["secret value"]},
                {"or": [{"field": "secret_name", "operator": "less_than", "value": "secret value"}]},
            ]
        }
    )

    condition, values = filter_condition(part, {"secret_name": FieldType.TEXT}, 4)

    assert "secret" not in condition
    assert values == ["secret_name", ["secret value"], "secret_name", "secret value"]


async def test_a_group_of_no_conditions_selects_all(shelf: Shelf) -> None:
    documents = [Stored(), Stored()]
    await shelf.put(*documents)

    assert await shelf.matching(FILTER.validate_python({"and": []})) == {d.doc_id for d in documents}


async def test_the_largest_filter_allowed_is_one_statement(shelf: Shelf) -> None:
    document = Stored({"issued": "2024-02-29"})
    await shelf.put(document)
    conditions = [{"field": "issued", "operator": "not_equals", "value": f"2023-01-{1 + n % 28:02}"} for n in range(64)]

    assert await shelf.matching(FILTER.validate_python({"and": conditions})) == {document.doc_id}
