"""How long a question may be."""

from citewire.contracts.providers import Provider
from citewire.contracts.sessions import SessionParams
from citewire.runtime.errors import invalid
from citewire.text.budget import question_fits, question_room
from citewire.text.tokens import are_within


def check_length(question: str, params: SessionParams, provider: Provider | None) -> None:
    """Raises Refusal 422 for a question with more tokens than its session allows or its model has room for.

    `provider` is the one that would be asked; None: no model is.
    """
    limit = params.max_chat_history_tokens
    if not are_within([question], limit):
        raise invalid("question", f"is longer than the {limit} tokens of max_chat_history_tokens")
    if provider is not None:
        room = provider.context_tokens, provider.max_output_tokens, params.system_message
        if not question_fits(question, *room):
            raise invalid("question", f"is longer than the {question_room(*room)} tokens that its model has for it")
