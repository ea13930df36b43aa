"""An answer by the language model under way, and what it is built on."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pace_ros.cache import Source
from pace_ros.language import normal_form
from pace_ros.llm import InFlight, Message, estimated_tokens
from pace_ros.retrieval import KnowledgeEntry


@dataclass(eq=False)
class Generation:
    """``entries`` is the knowledge in its prompt, ``informed`` the part of it that came with the question; tools may
    find more. ``outdated`` once it was stopped because any of that has changed, ``final`` if it will not be.
    """

    request: InFlight
    messages: Sequence[Message]
    informed: tuple[KnowledgeEntry, ...]
    entries: Sequence[KnowledgeEntry]
    outdated: bool = False
    final: bool = False

    @property
    def _known(self) -> list[KnowledgeEntry]:
        return [*self.entries, *(hit.entry for hit in self.request.report.used.hits)]

    @property
    def sources(self) -> tuple[Source, ...]:
        """All knowledge it is built on."""
        return tuple(dict.fromkeys(Source(each.entry_id, each.version) for each in self._known))

    @property
    def expires(self) -> float:
        """When the first of that ends (wall, s), infinite if none does."""
        return min((each.expires for each in self._known if each.expires is not None), default=math.inf)

    @property
    def stoppable(self) -> bool:
        """Whether it may be begun anew: nothing of it was heard, and no tool has changed anything in the world."""
        return not (self.final or self.request.speaks or self.request.report.used.acted)

    @property
    def too_long(self) -> bool:
        """Whether it may be begun anew with less in its prompt, which was refused for its length."""
        return self.request.too_long and self.stoppable

    @property
    def cost(self) -> int:
        """Tokens in and out; estimated where the request ended before the server said it. A prompt that was refused for
        its length costs nothing, only the tool rounds before it do.
        """
        report = self.request.report
        if report.attempts == 0:
            return 0  # never sent
        if self.request.too_long:
            return report.tokens_in + report.tokens_out
        return (report.tokens_in or estimated_tokens(self.messages)) + (report.tokens_out or self.request.pieces)

    def is_built_on(self, entry_ids: set[str], terms: Sequence[str]) -> bool:
        """Whether an entry it is built on is among these, or a term is in the prompt."""
        if any(source.entry_id in entry_ids for source in self.sources):
            return True
        return any(term in normal_form(message['content']) for term in terms for message in self.messages)
