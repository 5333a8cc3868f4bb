"""What is known of a text beside itself, noted by its writer as it goes (pure)."""

from dataclasses import dataclass, field

from citewire.contracts.provenance import Generator
from generator.citations.collect import Claim


@dataclass
class Draft:
    """Quotes that the text claims, who wrote it (None: nobody knows), and why it is not what was configured.

    `history_turns`: the earlier turns that the writer went by; None: all of the plan.
    """

    claims: list[Claim] = field(default_factory=list)
    generator: Generator | None = field(default_factory=Generator)
    problems: list[str] = field(default_factory=list)
    history_turns: int | None = None
