"""What a caller may do with knowledge bases, as the watched register says."""

import contextlib
from collections.abc import Collection, Generator, Mapping, Sequence

from citewire.contracts.filters import Filter, FilterProblem
from citewire.contracts.identity import User
from citewire.contracts.knowledge import KnowledgeBase, check_filters
from citewire.runtime.errors import forbidden, invalid, not_found
from citewire.runtime.registry import Registry


async def readable_kb(kbs: Registry[KnowledgeBase], kb_id: str, user: User) -> KnowledgeBase:
    """A knowledge base that a user may read; raises Refusal 404 as if there were none."""
    # The mirror may be a moment behind another process that has just made it.
    kb = kbs.entries.get(kb_id) or await kbs.read(kb_id)
    if kb is None or not kb.is_readable_by(user):
        raise not_found(f"knowledge base: {kb_id}")
    return kb


async def managed_kb(kbs: Registry[KnowledgeBase], kb_id: str, user: User) -> KnowledgeBase:
    """A knowledge base that a user may change; raises Refusal: 404 or, for one who may only read it, 403."""
    kb = await readable_kb(kbs, kb_id, user)
    if not kb.is_managed_by(user):
        raise forbidden("Only the owner of this knowledge base or an administrator may do this.")
    return kb


async def check_scope(
    kbs: Registry[KnowledgeBase], kb_ids: Sequence[str], filters: Mapping[str, Filter], user: User
) -> None:
    """Raises Refusal: 404 for a knowledge base that the user may not read, 422 for a filter that does not fit."""
    check_question_filters(filters, kb_ids, {kb_id: await readable_kb(kbs, kb_id, user) for kb_id in kb_ids})


def check_question_filters(
    filters: Mapping[str, Filter], kb_ids: Collection[str], kbs: Mapping[str, KnowledgeBase]
) -> None:
    """Raises Refusal 422 for a filter outside of the scope `kb_ids`, or one that the schema in `kbs` contradicts."""
    with refusing():
        check_filters(filters, kb_ids, kbs)


@contextlib.contextmanager
def refusing() -> Generator[None]:
    """Turns a FilterProblem of the block into a Refusal 422."""
    try:
        yield
    except FilterProblem as problem:
        raise invalid(problem.field, problem.message) from problem
