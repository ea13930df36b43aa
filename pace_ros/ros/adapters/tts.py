"""The robot's own speech: the TTS action of ROS4HRI robots."""
from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable
from typing import Any

from rclpy.node import Node

from pace_ros.embodiment import Cue, Sentence, SpeechError
from pace_ros.ros.adapters.goal import Action, End, Ending
from pace_ros.ros.adapters.interfaces import NONE, find_interface

FIRST_WORD = 0.5  # s: longest wait for the first word of a server not known to tell of words
POLL = 0.25  # s between two looks at whether the server is still there
HUSH = 0.5  # s: longest wait for a cancelled sentence to end before the next one is sent
LONGEST = 10.0  # s a sentence may last, and
LONGEST_CHARACTER = 0.5  # s more for each of its characters
SLACK = 0.5  # s beyond the deadline of acceptance, which the executor's thread watches
MARKUP = re.compile(r'[<>\\{}]')
REGIONS = {'en': 'en_US', 'zh': 'zh_CN'}


def plain(text: str) -> str:
    """A text without the characters with which speech engines mark up motions, lights and voices."""
    return ' '.join(MARKUP.sub(' ', text).split())


def engine_locale(tag: str) -> str:
    """A BCP 47 tag as speech engines write it: ``en_GB`` of ``en-GB``, ``zh_CN`` of ``zh`` and ``zh-Hans-CN``."""
    language, *rest = tag.replace('-', '_').split('_')
    region = next((part for part in rest if len(part) == 2 and part.isalpha()), '')
    return f'{language.lower()}_{region.upper()}' if region else REGIONS.get(language.lower(), language.lower())


class Saying:
    """What is known of one sentence on its way. Told in the executor's thread, read on the asyncio loop."""

    def __init__(self, server_is_there: Callable[[], bool]) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._server_is_there = server_is_there
        self.is_accepted = False
        self.word = ''
        self.end: End | None = None

    def accepted(self) -> None:
        """The server has begun."""
        self._note('is_accepted', True)

    def feedback(self, feedback: Any) -> None:
        """The server tells which word it utters."""
        word = getattr(feedback, 'word', '')  # the installed interface may have none
        if word:
            self._note('word', str(word))

    def ended(self, end: End) -> None:
        """The sentence is over."""
        self._note('end', end)

    def _note(self, name: str, value: object) -> None:
        def note() -> None:
            setattr(self, name, value)
            self._changed.set()

        with contextlib.suppress(RuntimeError):  # the loop has been closed meanwhile
            self._loop.call_soon_threadsafe(note)

    async def until(self, condition: Callable[[], bool], due: float) -> bool:
        """Wait until it holds or the end has come, at most until ``due`` (loop time). Raises SpeechError.

        An end that is no success, and a server that has gone, are errors.
        """
        absences = 0
        while not (condition() or self.end is not None):
            now = self._loop.time()
            if now >= due:
                return False
            absences = 0 if self._server_is_there() else absences + 1
            if absences > 1:
                raise SpeechError('the speech server has gone')
            self._changed.clear()
            wake = self._loop.call_at(min(due, now + POLL), self._changed.set)
            try:
                await self._changed.wait()
            finally:
                wake.cancel()
        if self.end is not None:
            self._judge(self.end)
        return True

    def _judge(self, end: End) -> None:
        said = str(getattr(end.result, 'error_msg', '') or '')
        if end.ending is not Ending.SUCCEEDED or said:
            raise SpeechError(f'{end.reason}: {said}' if said else end.reason)


class ActionSpeaker:
    """Speaks through an action server; it is heard from the first word the server tells of.

    A server that tells of no words is taken to be heard as soon as it accepts a sentence; that is said once, after its
    first sentence, for which the first word is awaited in vain for a moment.
    """

    def __init__(self, node: Node, name: str, deadline: float) -> None:
        """``name`` is the action's, "none" to leave it out; ``deadline`` the longest wait for acceptance (s)."""
        kind = None if name == NONE else find_interface(node, 'tts_msgs', 'action', 'TTS')
        self._node = node
        self._kind: Any = kind
        self._action = None if kind is None else Action(node, kind, name, deadline)
        self._last: Saying | None = None
        self._tells_words: bool | None = None
        self.name = f'action {name if self._action is None else self._action.name}'

    def available(self) -> bool:
        """Whether the package is installed and a server is there now."""
        return self._action is not None and self._action.is_there()

    async def prepare(self, text: str, locale: str) -> Sentence:
        """Nothing can be done ahead."""
        return Sentence(text, locale)

    async def say(self, sentence: Sentence, cue: Cue, started: Callable[[float], None]) -> None:
        """Speak to the end; a cancelled call cancels the goal at once. ``started`` is called at the first word.

        Raises SpeechError where the package or the server is missing or the installed interface is another one, where
        the server refuses, aborts, has gone, does not accept in time, or is still speaking long after the sentence can
        have been spoken.
        """
        if self._action is None:
            raise SpeechError('tts_msgs is not installed')
        text = plain(sentence.text)
        if not text:
            return
        await self._hush()
        saying = self._last = Saying(self._action.is_there)
        goal = self._action.send(self._goal(text, sentence.locale), saying)
        try:
            await self._spoken(saying, text, self._action.deadline, started)
        finally:
            goal.cancel()  # no effect where it has ended

    async def aclose(self) -> None:
        """Nothing is held on the loop."""

    def destroy(self) -> None:
        """Take the client down."""
        if self._action is not None:
            self._action.destroy()

    def _goal(self, text: str, locale: str) -> Any:
        try:
            return self._kind.Goal(input=text, locale=engine_locale(locale))
        except Exception as error:  # the installed interface has other fields
            raise SpeechError(f'no goal of {self.name} can be made: {error!r}') from error

    async def _hush(self) -> None:
        """Let the former sentence, cancelled perhaps a moment ago, end: one mouth."""
        last = self._last
        if last is not None and last.end is None:
            with contextlib.suppress(SpeechError):
                await last.until(lambda: False, asyncio.get_running_loop().time() + HUSH)

    async def _spoken(self, saying: Saying, text: str, deadline: float, started: Callable[[float], None]) -> None:
        now = asyncio.get_running_loop().time
        if not await saying.until(lambda: saying.is_accepted, now() + deadline + SLACK):
            raise SpeechError(f'{self.name} did not accept a sentence within {deadline:g} s')
        longest = LONGEST + LONGEST_CHARACTER * len(text)
        due = now() + longest
        if self._tells_words is not False:
            await saying.until(lambda: bool(saying.word), due if self._tells_words else now() + FIRST_WORD)
        started(0.0)
        ended = await saying.until(lambda: False, due)
        self._learn(saying)
        if not ended:
            raise SpeechError(f'{self.name} is still speaking a sentence after {longest:g} s')

    def _learn(self, saying: Saying) -> None:
        """Whether the server tells of words; a result may overtake those of a very short sentence."""
        if saying.word:
            self._tells_words = True
        elif self._tells_words is None:
            self._tells_words = False
            self._node.get_logger().warning(
                f'{self.name} tells of no words: its speech onsets are the instants at which it accepts a sentence'
            )
        elif self._tells_words:
            self._tells_words = None
