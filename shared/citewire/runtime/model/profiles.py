"""What the servers of each profile take and tell: all differences between providers stand in this table."""

from dataclasses import dataclass
from typing import Final, Literal

from citewire.contracts.providers import Profile


@dataclass(frozen=True)
class Traits:
    """How requests to a profile's servers differ, and how what they send is read.

    `limit_field` and `instructions_role` are those of Chat Completions. Without `takes_schema` the server knows JSON
    but no schema, which then stands in the instructions. `tags_reasoning`: what the model thinks may stand in its text
    between tags; else it has fields of its own, and a tag is text. `sends_store`: in Responses, the server is told to
    keep nothing; one that never does knows no such field.
    """

    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    instructions_role: Literal["system", "developer"] = "system"
    takes_schema: bool = True
    highest_temperature: float = 2.0
    tags_reasoning: bool = True
    sends_store: bool = True


TRAITS: Final = {
    Profile.COMPATIBLE: Traits(),
    # Its models that reason refuse `max_tokens`.
    Profile.OPENAI: Traits(limit_field="max_completion_tokens", instructions_role="developer", tags_reasoning=False),
    Profile.DEEPSEEK: Traits(takes_schema=False, sends_store=False),
    # Two itself is out of its range.
    Profile.BAILIAN: Traits(takes_schema=False, highest_temperature=1.99),
}
