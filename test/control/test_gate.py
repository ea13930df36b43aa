from __future__ import annotations

import math
import random
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.config import Gate as GateSettings
from pace_ros.control import Gate, GateState, Window

LITERAL = GateSettings(significance=1.0)
H = LITERAL.quiet_windows


def close(gate: Gate, *counts: int, load: float = 0.2) -> list[GateState]:
    return [gate.close_window(Window(count, 60.0, load)) for count in counts]


def gate(settings: GateSettings = LITERAL) -> Gate:
    return Gate(lambda: settings)


def closed(settings: GateSettings = LITERAL, *, count: int = 60) -> Gate:
    """A gate that has just become STATIC."""
    made = gate(settings)
    assert close(made, *[count] * (H + 1))[-1].static
    return made


def names(state: GateState) -> list[str]:
    return [trigger.name for trigger in state.triggers if trigger.fired]


# -- closing ----------------------------------------------------------------------------------------------------------


def test_a_cold_gate_is_open_and_has_compared_nothing() -> None:
    assert gate().state == GateState(False, 0, 0, (), 'cold start')


def test_ten_quiet_windows_close_it_and_the_first_is_not_one_of_them() -> None:
    states = close(gate(), *[60] * 12)
    assert [state.static for state in states] == [False] * 10 + [True] * 2
    assert [state.quiet_windows for state in states] == list(range(12))
    assert [state.windows for state in states] == list(range(1, 13))
    assert states[0].triggers == ()
    assert [trigger.name for trigger in states[1].triggers] == ['rate ratio', 'rate dispersion', 'load step']
    assert {state.reason for state in states[:10]} == {'cold start'}
    assert [state.reason for state in states[10:]] == ['10 quiet windows', '11 quiet windows']


def test_an_empty_floor_is_a_steady_one() -> None:
    assert close(gate(), *[0] * 11)[-1].static


def test_a_rise_of_exactly_half_is_quiet_again_and_again() -> None:
    made = closed(count=32)
    assert all(state.static for state in close(made, 48, 48, 32, 48, 32))


# -- opening ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize('count', [91, 39, 0])
def test_a_rate_ratio_opens_it(count: int) -> None:
    state = close(closed(), count)[-1]
    assert (state.static, state.quiet_windows) == (False, 0)
    assert 'rate ratio' in names(state)
    assert state.reason.startswith(f'rate ratio {count / 60:.3g}, p ')


def test_a_dispersion_alone_opens_it() -> None:
    """20, 26, 34, 44 rise by less than a third each; mean 31 and deviation 9 make 0.29. 20, 26, 34: 0.215."""
    made = gate(replace(LITERAL, quiet_windows=2))
    assert [state.static for state in close(made, 20, 26, 34)] == [False, False, True]
    state = close(made, 44)[-1]
    assert (state.static, names(state)) == (False, ['rate dispersion'])
    assert state.reason == 'rate dispersion 0.29, p 0.015'


def test_a_dispersion_looks_back_ten_windows_and_no_further() -> None:
    states = close(gate(), 20, *[30] * 10)
    assert states[9].triggers[1].value == pytest.approx(3 / 29)  # one 20 among nine 30
    assert states[10].triggers[1].value == 0.0


@pytest.mark.parametrize(('load', 'static'), [(0.249, True), (0.251, False), (0.151, True), (0.149, False)])
def test_a_load_step_opens_it(load: float, *, static: bool) -> None:
    state = close(closed(), 60, load=load)[-1]
    assert state.static is static
    assert names(state) == ([] if static else ['load step'])
    if not static:
        assert state.reason == 'load step 0.051, p 1'


def test_a_drift_of_load_below_the_step_is_quiet() -> None:
    made = closed()
    assert all(close(made, 60, load=0.2 + 0.049 * number)[-1].static for number in range(1, 17))


def test_the_reason_names_every_trigger_that_fired() -> None:
    state = close(closed(), 100, load=0.5)[-1]
    assert names(state) == ['rate ratio', 'load step']
    assert state.reason.startswith('rate ratio 1.67, p ')
    assert ', load step 0.3, p ' in state.reason
    assert 'dispersion' not in state.reason  # nine 60 and one 100: 12 / 64
    made = gate()
    close(made, 60)
    assert names(close(made, 180, load=0.5)[-1]) == ['rate ratio', 'rate dispersion', 'load step']


def test_the_reason_stays_until_it_has_closed_again() -> None:
    made = closed()
    opened = close(made, 120)[-1]
    after = close(made, *[120] * H)
    assert {state.reason for state in after[:-1]} == {opened.reason}
    assert after[-1].reason == '10 quiet windows'


# -- from one regime to the next --------------------------------------------------------------------------------------


def test_a_step_at_a_boundary_opens_it_for_ten_windows() -> None:
    made = closed()
    states = close(made, *[120] * 12)
    assert [state.static for state in states] == [False] * 10 + [True] * 2


def test_a_step_within_a_window_opens_it_for_eleven() -> None:
    made = closed()
    states = close(made, 120, *[240] * 12)  # 60 a window before, 240 after, from the second third on
    assert [state.static for state in states] == [False] * 11 + [True] * 2


def test_dispersion_forgets_the_old_regime_with_the_window_that_ended_it() -> None:
    made = closed()
    states = close(made, 240, *[240] * 9)
    assert [state.triggers[1].value for state in states[1:]] == [0.0] * 9


def test_every_further_trigger_starts_the_count_anew() -> None:
    made = gate()
    close(made, *[60] * 10)
    assert close(made, 120)[-1].quiet_windows == 0
    assert [state.quiet_windows for state in close(made, *[120] * 9)] == list(range(1, 10))
    assert close(made, 60)[-1].quiet_windows == 0
    assert not close(made, *[60] * 9)[-1].static
    assert close(made, 60)[-1].static


# -- the default rule -------------------------------------------------------------------------------------------------


def test_by_default_the_noise_of_a_quiet_showroom_is_no_trigger() -> None:
    counts = [0, 1, 0, 0, 2, 0, 1, 1, 0, 3, 0]
    assert close(gate(GateSettings()), *counts)[-1].static
    assert not any(state.static for state in close(gate(), *counts))


def test_by_default_a_rush_opens_it_as_well() -> None:
    for settings in (GateSettings(), LITERAL):
        assert names(close(closed(settings, count=30), 90)[-1])[0] == 'rate ratio'


def test_by_default_a_load_step_needs_first_tokens_unlike_those_before() -> None:
    made = gate(GateSettings())
    for number in range(H + 1):
        for seconds in (1.2, 1.4 + number % 3 / 10, 1.8):
            made.observe_ttft(seconds)
        close(made, 10)
    made.observe_ttft(1.6)
    assert close(made, 10, load=0.3)[-1].static  # one slower answer
    for _ in range(5):
        made.observe_ttft(3.5)
    state = close(made, 10, load=0.5)[-1]
    assert (state.static, names(state)) == (False, ['load step'])


def test_by_default_first_tokens_are_compared_with_those_of_their_own_regime() -> None:
    """After a rush that doubled them, twice the time is nothing new; against all that went before it would be."""
    made = gate(GateSettings())

    def window(number: int, around: float, count: int, load: float) -> GateState:
        for factor in (0.9, 1.0 + number % 3 / 100, 1.1):
            made.observe_ttft(factor * around)
        return close(made, count, load=load)[-1]

    for number in range(20):
        window(number, 1.0, 30, 0.1)
    assert names(window(0, 2.0, 90, 0.3)) == ['rate ratio', 'rate dispersion', 'load step']
    for number in range(1, 8):
        assert names(window(number, 2.0, 90, 0.4 - 0.1 * (number % 2))) == []
    assert names(window(0, 1.0, 90, 0.2)) == ['load step']  # and once the time is


def test_by_default_a_queue_that_makes_first_tokens_alike_is_no_change() -> None:
    """Windows of 25 that share more than chance gives: load moves by more than the step, and it stays closed.

    Two days of 23 windows each, as the study's steady floors; compared one by one, some window always looks like news.
    """
    chance = random.Random(4)
    for _ in range(2):
        made, states = gate(GateSettings()), []
        for number in range(23):
            shared = chance.gauss(0.6, 0.12)
            for _ in range(25):
                made.observe_ttft(math.exp(chance.gauss(shared, 0.33)))
            states.append(close(made, 50, load=0.3 + 0.1 * (number % 2))[-1])
        assert all(state.static for state in states[H:])


def test_it_obeys_settings_changed_while_it_runs() -> None:
    current = LITERAL
    made = Gate(lambda: current)
    assert not close(made, 60, 60, 60, 60)[-1].static
    current = replace(current, quiet_windows=4)
    assert close(made, 60)[-1].static
    current = replace(current, ratio=3.0, dispersion=10.0)
    assert close(made, 150)[-1].static
    current = replace(current, load_step=0.01)
    assert not close(made, 150, load=0.22)[-1].static


# -- against the rule in whole numbers --------------------------------------------------------------------------------


@dataclass
class LiteralRule:
    """Design section 5 without one rounding: counts of equal windows, load in thousandths."""

    regime: list[tuple[int, int]] = field(default_factory=list)
    quiet: int = 0

    def close(self, count: int, load: int) -> tuple[bool, list[str]]:
        fired = []
        if self.regime:
            before, load_before = self.regime[-1]
            self.regime = [*self.regime, (count, load)][-10:]
            counts = [each for each, _ in self.regime]
            total, squares = sum(counts), sum(each * each for each in counts)
            if 2 * count > 3 * before or 3 * count < 2 * before:
                fired.append('rate ratio')
            if 16 * (len(counts) * squares - total**2) > total**2:
                fired.append('rate dispersion')
            if abs(load - load_before) > 50:
                fired.append('load step')
            self.quiet = 0 if fired else self.quiet + 1
        if fired or not self.regime:
            self.regime = [(count, load)]
        return self.quiet >= 10, fired


def stretches() -> st.SearchStrategy[list[tuple[int, int]]]:
    """Windows in stretches of much the same counts and loads."""
    stretch = st.tuples(
        st.integers(0, 60),
        st.integers(0, 1000),
        st.lists(st.tuples(st.integers(0, 12), st.integers(-30, 30)), min_size=1, max_size=16),
    )
    return st.lists(stretch, min_size=1, max_size=8).map(
        lambda made: [(base + more, load + move) for base, load, windows in made for more, move in windows]
    )


@given(windows=stretches())
def test_it_decides_as_the_literal_rule_in_whole_numbers(windows: list[tuple[int, int]]) -> None:
    made, rule = gate(), LiteralRule()
    for count, load in windows:
        state = made.close_window(Window(count, 60.0, load / 1000))
        assert (state.static, names(state)) == rule.close(count, load)
        assert state.static is (state.quiet_windows >= 10)
