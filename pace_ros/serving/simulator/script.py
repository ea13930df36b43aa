"""What is asked of a simulated fleet: conversations, turn by turn, and when they begin."""
from __future__ import annotations

from dataclasses import dataclass

from pace_ros.settings import ConfigError


class WorkloadError(ConfigError):
    """A workload that cannot be; the message names what is at fault."""


@dataclass(frozen=True)
class TurnScript:
    """A turn, in tokens. Its prompt repeats ``shared`` tokens of the conversation so far from its first on; the client
    allows ``limit`` tokens of answer and gets ``answer``, the first ``hidden`` of which are not for the user (thoughts,
    tool calls). It comes ``think`` s after the answer before it: a visitor thinks, a tool runs.
    """

    prompt: int
    answer: int
    shared: int = 0
    hidden: int = 0
    limit: int = 0
    think: float = 0.0

    def __post_init__(self) -> None:
        if self.prompt < 1 or self.answer < 1 or min(self.shared, self.hidden, self.limit) < 0:
            raise WorkloadError(f'A turn has a prompt, an answer, and nothing negative: {self}')
        if not 0.0 <= self.think < float('inf'):
            raise WorkloadError(f'Nobody thinks for {self.think} s.')

    @property
    def most(self) -> int:
        """Tokens of answer that room is reserved for."""
        return max(self.limit, self.answer)

    @property
    def known(self) -> int:
        """Tokens of its prompt that a cache may hold; the last one is read in any case."""
        return min(self.shared, self.prompt - 1)

    @property
    def visible(self) -> bool:
        """Whether the user sees anything of its answer."""
        return self.hidden < self.answer


@dataclass(frozen=True)
class Script:
    """A conversation: each turn waits for the answer before it. Its first ``opening`` tokens are those of every other
    one of its ``family``: a persona, an instruction.
    """

    key: str
    turns: tuple[TurnScript, ...]
    family: str = ''
    opening: int = 0

    def __post_init__(self) -> None:
        if not self.turns:
            raise WorkloadError(f'Conversation {self.key} has no turn.')
        if self.opening < 0:
            raise WorkloadError(f'Conversation {self.key} cannot open with {self.opening} tokens.')

    def in_common(self, other: Script) -> int:
        """Tokens with which another conversation begins as this one does."""
        return min(self.opening, other.opening) if self.family == other.family else 0


@dataclass(frozen=True)
class Workload:
    """Conversations with the times at which they begin, s, ascending, and how it came about."""

    name: str
    arrivals: tuple[tuple[float, Script], ...]

    def __post_init__(self) -> None:
        times = [at for at, _ in self.arrivals]
        if not times or times != sorted(times) or times[0] < 0.0:
            raise WorkloadError(f'Workload {self.name} needs conversations that begin one after another, from 0 s on.')
        if len({each.key for _, each in self.arrivals}) < len(times):
            raise WorkloadError(f'Workload {self.name} has two conversations of one key.')

    @property
    def scripts(self) -> list[Script]:
        """The conversations, to let them come at other times."""
        return [each for _, each in self.arrivals]

    @property
    def turns(self) -> int:
        """Of all conversations."""
        return sum(len(each.turns) for _, each in self.arrivals)
