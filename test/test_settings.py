from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pace_ros.config import Config
from pace_ros.settings import ConfigError, Setting, setting, settings_of, value_of, with_values


@dataclass(frozen=True)
class Engine:
    power: float = setting(1.5, 'Power.', low=0.0, high=10.0)
    gears: int = setting(5, 'Gears.', low=1, high=9, read_only=True)


@dataclass(frozen=True)
class Car:
    name: str = setting('lark', 'Name.')
    colour: str = setting('red', 'Colour.', choices=('red', 'blue'))
    sold: bool = setting(False, 'Sold.')
    tags: tuple[str, ...] = setting((), 'Tags.')
    engine: Engine = field(default_factory=Engine)

    def __post_init__(self) -> None:
        if self.sold and self.engine.power > 9:
            raise ConfigError('too strong to be sold')


BY_NAME = {each.name: each for each in settings_of(Car)}
ALL = list(settings_of(Config))
NUMERIC = [each for each in ALL if isinstance(each.default, int | float) and not isinstance(each.default, bool)]


def test_leaves_come_by_dotted_name_in_the_order_of_declaration() -> None:
    assert list(BY_NAME) == ['name', 'colour', 'sold', 'tags', 'engine.power', 'engine.gears']
    assert BY_NAME['engine.gears'] == Setting('engine.gears', 5, 'Gears.', 1, 9, (), read_only=True)


@pytest.mark.parametrize('each', ALL, ids=lambda each: each.name)
def test_every_default_passes_its_own_check_unchanged(each: Setting) -> None:
    checked = each.checked(each.default)
    assert checked == each.default
    assert type(checked) is type(each.default)
    assert each.doc


def test_values_are_taken_in_the_settings_own_type() -> None:
    assert BY_NAME['engine.power'].checked(3) == 3.0
    assert isinstance(BY_NAME['engine.power'].checked(3), float)
    assert BY_NAME['tags'].checked(['a', '', 'b']) == ('a', 'b')  # ROS has no empty list of strings but ['']
    assert BY_NAME['tags'].checked(()) == ()


@pytest.mark.parametrize(
    ('name', 'value', 'says'),
    [
        ('name', 3, 'must be str'),
        ('name', None, 'must be str'),
        ('colour', 'green', 'must be one of red, blue'),
        ('colour', '', 'must be one of red, blue'),
        ('sold', 1, 'must be bool'),
        ('sold', 'true', 'must be bool'),
        ('tags', 'a', 'must be a list of strings'),
        ('tags', ['a', 1], 'must be a list of strings'),
        ('engine.power', '3', 'must be float'),
        ('engine.power', True, 'must be float'),
        ('engine.power', math.nan, 'finite'),
        ('engine.power', math.inf, 'finite'),
        ('engine.power', -0.001, 'from 0.0 to 10.0'),
        ('engine.power', 10.001, 'from 0.0 to 10.0'),
        ('engine.gears', 5.0, 'must be int'),
        ('engine.gears', False, 'must be int'),
        ('engine.gears', 0, 'from 1 to 9'),
        ('engine.gears', 10, 'from 1 to 9'),
    ],
)
def test_a_refusal_names_parameter_value_and_what_is_wanted(name: str, value: object, says: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        BY_NAME[name].checked(value)
    message = str(refusal.value)
    assert message.startswith(f"Parameter '{name}' ")
    assert message.endswith(f'not {value!r}.')
    assert says in message


@pytest.mark.parametrize('name', ['engine.power', 'engine.gears'])
def test_limits_are_inclusive(name: str) -> None:
    each = BY_NAME[name]
    for limit in (each.low, each.high):
        assert limit is not None
        value = type(each.default)(limit)  # type: ignore[call-overload]
        assert each.checked(value) == value


ANYTHING: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(), st.binary(),
    st.lists(st.integers()), st.lists(st.text()), st.dictionaries(st.text(), st.text(), max_size=2),
)


@given(each=st.sampled_from(ALL), value=ANYTHING)
def test_any_value_is_either_taken_within_its_limits_or_refused_by_name(each: Setting, value: object) -> None:
    try:
        checked = each.checked(value)
    except ConfigError as error:
        refusal = str(error)
    else:
        refusal = ''
    if refusal:
        assert f"'{each.name}'" in refusal
        assert repr(value) in refusal
        return
    assert type(checked) is type(each.default)
    assert not each.choices or checked in each.choices
    if isinstance(checked, int | float) and not isinstance(checked, bool):
        assert math.isfinite(checked)
        assert each.low is None or checked >= each.low
        assert each.high is None or checked <= each.high
    assert each.checked(checked) == checked


@pytest.mark.parametrize('name', ['engine.power', 'engine.gears'])
@pytest.mark.parametrize('sign', ['', '-'])
def test_an_integer_beyond_all_floats_is_refused_too(name: str, sign: str) -> None:
    with pytest.raises(ConfigError, match=f"Parameter '{name}'"):
        BY_NAME[name].checked(int(f'{sign}1' + '0' * 400))


@given(each=st.sampled_from(NUMERIC), excess=st.floats(1e-6, 1e12), below=st.booleans())
def test_every_number_beyond_its_limits_is_refused(each: Setting, excess: float, *, below: bool) -> None:
    assert each.low is not None
    assert each.high is not None
    value: float = each.low - excess if below else each.high + excess
    if isinstance(each.default, int):
        value = math.floor(value) if below else math.ceil(value)
    with pytest.raises(ConfigError, match=f"Parameter '{each.name}' must be from"):
        each.checked(value)


# -- trees ----------------------------------------------------------------------------------------------------------


def test_values_are_put_into_a_copy_of_the_tree() -> None:
    car = Car()
    changed = with_values(car, {'engine.power': 2, 'name': 'heron', 'tags': ['x']})
    assert changed == Car(name='heron', tags=('x',), engine=Engine(power=2.0))
    assert car == Car()
    assert with_values(car, {}) == car


def test_values_are_read_by_dotted_name() -> None:
    car = Car(engine=Engine(gears=7))
    assert value_of(car, 'engine.gears') == 7
    assert {name: value_of(car, name) for name in BY_NAME} == {
        'name': 'lark', 'colour': 'red', 'sold': False, 'tags': (), 'engine.power': 1.5, 'engine.gears': 7,
    }


@pytest.mark.parametrize('name', ['wheels', 'engine', 'engine.', 'engine.power.x', '', 'Engine.power', '__class__'])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"There is no parameter '{name}'"):
        with_values(Car(), {name: 1})


def test_one_bad_value_refuses_all() -> None:
    car = Car()
    with pytest.raises(ConfigError, match=r"'engine\.gears'"):
        with_values(car, {'name': 'heron', 'engine.gears': 99})
    assert car == Car()


def test_checks_across_fields_see_all_changes_together() -> None:
    sold = with_values(Car(), {'sold': True})
    with pytest.raises(ConfigError, match='too strong'):
        with_values(sold, {'engine.power': 9.5})
    assert with_values(sold, {'engine.power': 9.5, 'sold': False}).engine.power == 9.5
