from importlib.metadata import version

from pace_ros.study.made_by import made_by, source_digest


def test_what_is_not_installed_is_left_out() -> None:
    assert made_by(['numpy', 'no-such-library'], 2)['versions'] == {'numpy': version('numpy')}


def test_the_code_and_the_machine_are_named() -> None:
    made = made_by([], 3)
    assert made['code'] == source_digest()
    assert len(made['code']) == 12
    assert made['machine']['workers'] == 3
