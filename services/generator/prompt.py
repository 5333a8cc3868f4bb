"""The prompt of an answer: fixed rules, the turns before, and the sources with the question, within a budget."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewire.contracts.events import RetrievalPlanned
from citewire.contracts.evidence import Source
from citewire.contracts.providers import AnswerForm, Provider
from citewire.contracts.sessions import Turn
from citewire.runtime.model.requests import ModelMessage, ModelRequest
from citewire.text.budget import answer_tokens
from citewire.text.normalise import clean
from generator.blocks import source_block, source_blocks
from generator.reading.structured import ANSWER_SHAPE
from generator.room import TokenRoom
from generator.rules import instructions

# Tokens that a server's template may put around one message; that a seam between counted texts may add; and that the
# whole needs for instructions, last message and the beginning of the answer.
MESSAGE_TOKENS = 8
SEAM_TOKENS = 2
FRAME_TOKENS = 32

_SHAPE_TEXT = json.dumps(ANSWER_SHAPE.schema)
_EMPTY_FRAME = source_blocks([])


class PromptTooLong(Exception):  # noqa: N818 - a fact about the question, not a fault
    """The question and the rules alone are more than the model's context holds."""


@dataclass(frozen=True)
class Prompt:
    """What to send; how many earlier turns are in it; and the numbers of sources that did not fit."""

    request: ModelRequest
    history_turns: int
    left_out: tuple[int, ...] = ()


def evidence_room(provider: Provider, plan: RetrievalPlanned) -> int:
    """How many tokens (o200k_base) the blocks of the sources may have in all; never below zero.

    Everything that must be sent is taken off: answer, rules, system message, question. History gives way first.
    """
    room = TokenRoom(_prompt_tokens(provider))
    fits = room.take(_fixed(provider, plan, has_sources=True), FRAME_TOKENS)
    return max(0, room.left()) if fits else 0


def build_prompt(provider: Provider, plan: RetrievalPlanned, sources: Sequence[Source]) -> Prompt:
    """The request for an answer from these sources, or from the model alone where there are none.

    Sources are kept over history: of the earlier turns the newest go in, whole, as far as there is room. Raises
    PromptTooLong when even the question and the rules do not fit.
    """
    fixed = _fixed(provider, plan, has_sources=bool(sources))
    room = TokenRoom(_prompt_tokens(provider))
    if not room.take(fixed, FRAME_TOKENS):
        raise PromptTooLong("the question does not fit into the context of the model")
    blocks = {source.number: source_block(source.number, source) for source in sources}
    taken = [number for number, block in blocks.items() if room.take([block], SEAM_TOKENS)]
    turns = _newest_turns(plan.history, room)
    question = clean(plan.question)
    message = f"{source_blocks([blocks[number] for number in taken])}\n\n{question}" if sources else question
    messages = (*_dialogue(turns), ModelMessage("user", message))
    left_out = tuple(number for number in blocks if number not in taken)
    return Prompt(_request(provider, plan, fixed[0], messages), len(turns), left_out)


def _prompt_tokens(provider: Provider) -> int:
    return provider.context_tokens - answer_tokens(provider.context_tokens, provider.max_output_tokens)


def _fixed(provider: Provider, plan: RetrievalPlanned, *, has_sources: bool) -> list[str]:
    """The texts without which there is no prompt, the instructions first."""
    params = plan.params
    rules = instructions(
        provider.form, params.target_output_length, clean(params.system_message), has_sources=has_sources
    )
    shape = [_SHAPE_TEXT] if provider.form is AnswerForm.STRUCTURED else []
    return [rules, clean(plan.question), _EMPTY_FRAME, *shape]


def _newest_turns(history: Sequence[Turn], room: TokenRoom) -> list[Turn]:
    """The newest turns that fit, oldest first; one without question or answer is none."""
    kept: list[Turn] = []
    for turn in reversed(history):
        if not (turn.question.strip() and turn.answer.strip()):
            continue
        if not room.take([clean(turn.question), clean(turn.answer)], 2 * MESSAGE_TOKENS):
            break
        kept.append(turn)
    return kept[::-1]


def _dialogue(turns: Sequence[Turn]) -> Iterator[ModelMessage]:
    for turn in turns:
        yield ModelMessage("user", clean(turn.question))
        yield ModelMessage("assistant", clean(turn.answer))


def _request(
    provider: Provider, plan: RetrievalPlanned, rules: str, messages: tuple[ModelMessage, ...]
) -> ModelRequest:
    temperature = plan.params.temperature if provider.temperature is None else provider.temperature
    return ModelRequest(
        model=plan.params.model or provider.model,
        instructions=rules,
        messages=messages,
        max_output_tokens=answer_tokens(provider.context_tokens, provider.max_output_tokens),
        temperature=temperature if provider.sends_temperature else None,
        shape=ANSWER_SHAPE if provider.form is AnswerForm.STRUCTURED else None,
    )
