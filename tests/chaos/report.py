"""What a run has seen: faults with how long the service took to answer again, what clients met, and violations."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from chaos.load import Asked


@dataclass(frozen=True)
class Injected:
    """A fault, when it struck by the monotonic clock, and the seconds until a question asked after it was answered."""

    name: str
    at: float
    recovery: float | None


@dataclass
class Report:
    """Filled in as the run goes on; a run with violations has failed."""

    faults: list[Injected] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    # Seconds by what was measured.
    measures: dict[str, float] = field(default_factory=dict)
    # What is worth a look and breaks no promise.
    remarks: list[str] = field(default_factory=list)

    def measure(self, name: str, seconds: float, limit: float) -> None:
        """Keep a measurement and hold it against its limit."""
        self.measures[name] = seconds
        if seconds > limit:
            self.violations.append(f"{name}: {seconds:.1f} s, more than {limit:.1f} s")

    def lines(self) -> list[str]:
        """The run as a table for people."""
        counts = Counter(asked.status or "no end" for asked in self.asked)
        return [
            f"{len(self.asked)} questions accepted: " + ", ".join(f"{name} {n}" for name, n in counts.most_common()),
            f"streams taken up again: {sum(asked.resumed for asked in self.asked)}",
            f"answers begun anew: {sum(asked.anew for asked in self.asked)}",
            f"refusals obeyed: {sum(asked.refused for asked in self.asked)}",
            _spread("seconds from acceptance to end", [a.ended_at - a.accepted_at for a in self.asked if a.end]),
            "",
            *_fault_lines(self.faults),
            *(f"{name:<50} {seconds:6.2f} s" for name, seconds in self.measures.items()),
            "",
            *(f"remark: {remark}" for remark in self.remarks),
            *(f"VIOLATION: {violation}" for violation in self.violations),
            f"{len(self.violations)} violations",
        ]


def _fault_lines(faults: Sequence[Injected]) -> list[str]:
    names = dict.fromkeys(fault.name for fault in faults)
    rows = []
    for name in names:
        same = [fault for fault in faults if fault.name == name]
        recoveries = [fault.recovery for fault in same if fault.recovery is not None]
        answered = f"answers again after {max(recoveries):5.1f} s at most" if recoveries else ""
        rows.append(f"{name:<50} {len(same):4} x   {answered}")
    return rows


def _spread(name: str, values: list[float]) -> str:
    if not values:
        return f"{name}: none"
    return f"{name}: median {statistics.median(values):.1f}, most {max(values):.1f}"
