"""What a model's context leaves for a question and its evidence, in o200k_base tokens."""

from citewire.text.tokens import are_within, count_tokens

# Tokens for citewire's own rules and for what frames the parts of a prompt.
RULES_TOKENS = 1500


def answer_tokens(context_tokens: int, max_output_tokens: int) -> int:
    """How many tokens an answer may have: at most half of the context, so that a large limit leaves room to ask."""
    return min(max_output_tokens, context_tokens // 2)


def question_room(context_tokens: int, max_output_tokens: int, system_message: str) -> int:
    """How many tokens a question and its evidence may have together; never below zero."""
    used = count_tokens(system_message) if system_message else 0
    return max(0, _room(context_tokens, max_output_tokens) - used)


def question_fits(question: str, context_tokens: int, max_output_tokens: int, system_message: str) -> bool:
    """Whether a question has no more tokens than its room; counted only if the texts' bytes do not tell it already."""
    return are_within([question, system_message], _room(context_tokens, max_output_tokens))


def _room(context_tokens: int, max_output_tokens: int) -> int:
    return context_tokens - answer_tokens(context_tokens, max_output_tokens) - RULES_TOKENS
