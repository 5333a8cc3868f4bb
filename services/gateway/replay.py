"""The frames that a client lacks of an answer that is on record, when its log can't give them."""

from citewire.contracts.answers import FrameKind
from citewire.contracts.sessions import Interaction, InteractionStatus
from gateway import frames
from gateway.reading import Reading


def complete(reading: Reading, interaction: Interaction) -> str:
    """The rest of the answer, if what was sent is its beginning; else the whole answer anew, from its `sources`.

    One that failed has the same frames as live: its `error`, after `sources` only where there were any.
    """
    reading.is_done = True
    if interaction.status is InteractionStatus.FAILED:
        return _failure(reading, interaction)
    text = frames.escape_text(interaction.model_response.content)
    rest = reading.sent.rest_of(text) if reading.number and not reading.after else None
    chunks, number = [], _last_frame(reading)
    if rest is None:
        rest, number = text, 0
        # Without sources nothing else can have been sent, but to a client that has the beginning of another answer.
        if interaction.quality is not None or not reading.is_fresh:
            chunks.append(frames.frame(FrameKind.SOURCES, frames.sources_of(interaction), number := 1))
    if rest:
        chunks.append(frames.delta_frame(rest, number := number + 1))
    chunks.append(frames.end_frame(frames.done_of(interaction), number + 1, persisted=True))
    return "".join(chunks)


def _failure(reading: Reading, interaction: Interaction) -> str:
    chunks, number = [], _last_frame(reading)
    had_sources = interaction.quality is not None
    if reading.is_fresh and had_sources:
        chunks.append(frames.frame(FrameKind.SOURCES, frames.sources_of(interaction), number := 1))
    elif reading.after:
        # Asked after its end, a stream gives its last frame once more.
        number = max(int(had_sources), reading.after - 1)
    chunks.append(frames.end_frame(frames.done_of(interaction), number + 1, persisted=True))
    return "".join(chunks)


def _last_frame(reading: Reading) -> int:
    if reading.is_refuted:
        # The end that the store refutes and the word that it is stored were taken, and not sent.
        return reading.number - 2
    # An end that waited for that word when the log was lost was not sent either.
    return reading.number - 1 if reading.end is not None else reading.number
