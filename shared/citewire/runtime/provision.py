"""Streams, consumers and buckets: the one place that creates or changes them, idempotently, at start."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DiscardPolicy,
    KeyValueConfig,
    ObjectStoreConfig,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import NotFoundError

from citewire.contracts import streams
from citewire.contracts.events import (
    DocumentOffered,
    DocumentSubmitted,
    InteractionFinished,
    QuestionAsked,
    QuestionRejected,
    RetrievalPlanned,
    RetrievalRequested,
    SegmentsFound,
)
from citewire.contracts.knowledge import DEFAULT_POOL

MINUTE = 60.0
DAY = 24 * 60 * MINUTE
# More questions than this waiting means that answers would come too late: refuse at the door instead.
MAX_WAITING_QUESTIONS = 2000
MAX_DEAD_LETTER_BYTES = 256 * 1024**2

# nats-py takes durations in seconds.
STREAMS: tuple[StreamConfig, ...] = (
    StreamConfig(
        name=streams.QUESTIONS,
        subjects=[f"{QuestionAsked.subject}.*"],
        retention=RetentionPolicy.INTEREST,  # two consumers need each question: planning and audit
        discard=DiscardPolicy.NEW,
        max_msgs=MAX_WAITING_QUESTIONS,
        max_age=DAY,
        duplicate_window=10 * MINUTE,
    ),
    StreamConfig(
        name=streams.PLANS,
        subjects=[RetrievalPlanned.subject],
        retention=RetentionPolicy.WORK_QUEUE,
        max_age=15 * MINUTE,
        duplicate_window=10 * MINUTE,
    ),
    StreamConfig(
        name=streams.RETRIEVALS,
        subjects=[f"{RetrievalRequested.subject}.*.*"],
        retention=RetentionPolicy.WORK_QUEUE,
        max_age=5 * MINUTE,
        duplicate_window=2 * MINUTE,
    ),
    StreamConfig(
        name=streams.SEGMENTS,
        subjects=[f"{SegmentsFound.subject}.*.*"],
        retention=RetentionPolicy.LIMITS,
        storage=StorageType.MEMORY,  # a search can be repeated, so memory is enough
        max_age=15 * MINUTE,
        max_msgs_per_subject=1,
        duplicate_window=10 * MINUTE,
        allow_direct=True,
    ),
    StreamConfig(
        name=streams.OUTCOMES,
        subjects=[f"{InteractionFinished.subject}.*", f"{QuestionRejected.subject}.*"],
        retention=RetentionPolicy.LIMITS,  # kept, so that a restored database can be brought up to date
        max_age=7 * DAY,
        duplicate_window=60 * MINUTE,
    ),
    StreamConfig(
        name=streams.DOCUMENTS,
        subjects=["kb.v1.document.*.*"],
        retention=RetentionPolicy.LIMITS,
        max_age=7 * DAY,
        duplicate_window=10 * MINUTE,
    ),
    StreamConfig(
        name=streams.DEAD_LETTERS,
        subjects=[f"{streams.DEAD_LETTER_SUBJECT}.>"],
        retention=RetentionPolicy.LIMITS,
        max_age=30 * DAY,
        # The oldest make room: letters must never be the reason why nothing else can be stored.
        max_bytes=MAX_DEAD_LETTER_BYTES,
        duplicate_window=60 * MINUTE,
        allow_direct=True,
    ),
)


@dataclass(frozen=True)
class ConsumerSpec:
    """A durable pull consumer: who reads what, how many at once per process, and how often at most."""

    durable: str
    stream: str
    subject: str
    workers: int
    ack_wait: timedelta
    max_deliver: int
    # A handler that may take longer than `ack_wait` says so while it works.
    is_long: bool = False
    # What is stored must outlast an outage of the database: a TransientError never uses up its tries.
    outlasts_outages: bool = False


PLANNER = ConsumerSpec(
    "autoquery",
    streams.QUESTIONS,
    f"{QuestionAsked.subject}.*",
    128,
    timedelta(seconds=30),
    max_deliver=4,
    # Two models may be asked for one plan.
    is_long=True,
)
AUDITOR = ConsumerSpec(
    "persister-questions",
    streams.QUESTIONS,
    f"{QuestionAsked.subject}.*",
    8,
    timedelta(seconds=30),
    max_deliver=20,
    outlasts_outages=True,
)


def searcher_of(pool: str) -> ConsumerSpec:
    """What the retrievers of a pool consume; the process that serves another pool than the default provisions it."""
    return ConsumerSpec(
        "retriever" if pool == DEFAULT_POOL else f"retriever-{pool}",
        streams.RETRIEVALS,
        f"{RetrievalRequested.subject}.{pool}.*",
        32,
        timedelta(seconds=20),
        max_deliver=3,
    )


SEARCHER = searcher_of(DEFAULT_POOL)
ANSWERER = ConsumerSpec(
    "generator", streams.PLANS, RetrievalPlanned.subject, 64, timedelta(seconds=15), max_deliver=5, is_long=True
)
STORER = ConsumerSpec(
    "persister-outcomes",
    streams.OUTCOMES,
    f"{InteractionFinished.subject}.*",
    8,
    timedelta(seconds=30),
    max_deliver=20,
    outlasts_outages=True,
)
REJECTION_RECORDER = ConsumerSpec(
    "persister-rejections",
    streams.OUTCOMES,
    f"{QuestionRejected.subject}.*",
    4,
    timedelta(seconds=30),
    max_deliver=20,
    outlasts_outages=True,
)
INGESTER = ConsumerSpec(
    "retriever-documents",
    streams.DOCUMENTS,
    f"{DocumentSubmitted.subject}.*",
    # Most of them wait for the index: what waits together is committed together.
    32,
    timedelta(seconds=60),
    max_deliver=3,
    is_long=True,
)
OFFER_TAKER = ConsumerSpec(
    "retriever-offers",
    streams.DOCUMENTS,
    f"{DocumentOffered.subject}.*",
    2,
    timedelta(seconds=30),
    max_deliver=20,
    outlasts_outages=True,
)
CONSUMERS = (PLANNER, AUDITOR, SEARCHER, ANSWERER, STORER, REJECTION_RECORDER, INGESTER, OFFER_TAKER)

BROWSER_SESSION_LIFE = 7 * DAY


async def provision(js: JetStreamContext, max_replicas: int) -> None:
    """Bring the server to what this module says; safe to run from every process at each start."""
    for stream in STREAMS:
        await _put_stream(js, stream)
    await _put_buckets(js)
    await put_consumers(js, CONSUMERS, max_replicas)


async def _put_stream(js: JetStreamContext, config: StreamConfig) -> None:
    try:
        await js.stream_info(str(config.name))
    except NotFoundError:
        await js.add_stream(config)
    else:
        await js.update_stream(config)


async def put_consumers(js: JetStreamContext, specs: Iterable[ConsumerSpec], max_replicas: int) -> None:
    """Bring consumers to what their specs say, each for at most so many processes."""
    for spec in specs:
        await js.add_consumer(
            spec.stream,
            ConsumerConfig(
                durable_name=spec.durable,
                filter_subject=spec.subject,
                ack_policy=AckPolicy.EXPLICIT,
                ack_wait=spec.ack_wait.total_seconds(),
                # The finite number of tries is kept in `delivery`, which sets the message aside; the
                # server's own limit would leave it in the stream without a word.
                max_deliver=-1,
                # Bounds the work in flight over all processes of a role.
                max_ack_pending=spec.workers * max_replicas,
            ),
        )


async def _put_buckets(js: JetStreamContext) -> None:
    for bucket, life in (
        (streams.KB_BUCKET, None),
        (streams.KEY_BUCKET, None),
        (streams.BROWSER_BUCKET, BROWSER_SESSION_LIFE),
        (streams.PROVIDER_BUCKET, None),
    ):
        try:
            await js.key_value(bucket)
        except NotFoundError:
            await js.create_key_value(KeyValueConfig(bucket=bucket, ttl=life))
    try:
        await js.object_store(streams.UPLOAD_BUCKET)
    except NotFoundError:
        await js.create_object_store(streams.UPLOAD_BUCKET, ObjectStoreConfig(ttl=DAY))
