"""What is told of each way of searching one knowledge base."""

from citewire.contracts.evidence import Leg
from citewire.contracts.knowledge import KnowledgeBase
from retriever.dense import DenseResult

# Why a leg, or a whole search, has nothing once its time is over.
LATE = "no answer in time"


def lexical_leg(kb: KnowledgeBase, ready: int, hits: int, elapsed_ms: float) -> Leg:
    """The words."""
    return Leg(kb_id=kb.kb_id, leg="lexical", hits=hits, elapsed_ms=elapsed_ms, ready=ready, total=kb.chunks)


def dense_leg(kb_id: str, found: DenseResult, elapsed_ms: float) -> Leg:
    """The vectors."""
    return Leg(
        kb_id=kb_id,
        leg="dense",
        hits=sum(map(len, found.rankings)),
        elapsed_ms=elapsed_ms,
        ready=found.ready,
        total=found.total,
        skipped=found.skipped,
        error=found.error,
    )


def late_rerank_leg(kb_id: str) -> Leg:
    """The reranker, once the ranking no longer waits for it."""
    return Leg(kb_id=kb_id, leg="rerank", error=LATE)
