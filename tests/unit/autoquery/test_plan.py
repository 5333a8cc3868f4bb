"""The plan without a model."""

from autoquery.plan import plan_queries, separable_parts


def test_one_question_is_one_query_per_knowledge_base() -> None:
    queries = plan_queries("What is RSE?", (), ["a", "b"], max_queries=5)

    assert [(query.kb_id, query.query) for query in queries] == [("a", "What is RSE?"), ("b", "What is RSE?")]


def test_separable_parts_are_searched_on_their_own_as_well() -> None:
    queries = plan_queries("氧气是谁发现的？亚马逊雨林有多大？", (), ["a"], max_queries=5)

    assert [query.query for query in queries] == [
        "氧气是谁发现的？亚马逊雨林有多大？",
        "氧气是谁发现的？",
        "亚马逊雨林有多大？",
    ]


def test_the_cap_counts_queries_before_they_fan_out() -> None:
    question = "Who pays travel? Who books hotels? Who approves expenses?"

    queries = plan_queries(question, (), ["a", "b", "c"], max_queries=2)

    assert {kb_id: sum(query.kb_id == kb_id for query in queries) for kb_id in "abc"} == {"a": 2, "b": 2, "c": 2}


def test_duplicates_and_empty_queries_are_dropped() -> None:
    queries = plan_queries("Who pays travel? Who pays travel?", (), ["a"], max_queries=5)

    assert len({query.query for query in queries}) == len(queries)


def test_e04_context_goes_with_every_query() -> None:
    (query,) = plan_queries("那它的利润呢", ("2023 年营收是多少",), ["a"], max_queries=5)

    assert query.context == ("2023 年营收是多少",)


def test_no_knowledge_base_means_no_query() -> None:
    assert plan_queries("What is RSE?", (), [], max_queries=5) == ()


def test_a_decimal_point_separates_nothing() -> None:
    assert separable_parts("Is version 2.16 of nats-py fine?") == ()
