"""What the nursery is told to start. Apart from it, so that who gives orders need not load all services."""

import json
from dataclasses import asdict, dataclass

# Followed by a worker's name: it answers how much it holds.
PROBE_SUBJECT = "chaos.probe"


@dataclass(frozen=True)
class Order:
    """One worker to start: its name and role, what to add to the environment, where to log and to say it is ready.

    `pause` is the generator's, in seconds before each piece of text.
    """

    name: str
    role: str
    environment: dict[str, str]
    log: str
    ready: str
    pause: float

    def encode(self) -> str:
        """One line."""
        return json.dumps(asdict(self)) + "\n"
