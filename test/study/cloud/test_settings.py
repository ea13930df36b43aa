from __future__ import annotations

from pathlib import Path

import pytest

from pace_ros.study.cloud import CloudError, CloudSettings, regime
from pace_ros.study.cloud.settings import Outage


def test_a_file_replaces_what_it_names(tmp_path: Path) -> None:
    path = tmp_path / 'cloud.yaml'
    path.write_text('first_token_median: 2\noutages: [10-20]\n')
    assert CloudSettings().read(path) == CloudSettings().changed(first_token_median=2.0, outages=('10-20',))


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    settings = regime('outage').changed(slots=3, live_facts=False)
    settings.write(tmp_path / 'cloud.yaml')
    assert CloudSettings().read(tmp_path / 'cloud.yaml') == settings


@pytest.mark.parametrize(('name', 'value', 'words'), [
    ('first_token_median', -1.0, "Cloud setting 'first_token_median' must be from 0.0 to 600.0, not -1.0."),
    ('slots', 0, "Cloud setting 'slots' must be from 1 to 1000000, not 0."),
    ('slots', 1.5, "Cloud setting 'slots' must be int, not 1.5."),
    ('knows', float('nan'), "Cloud setting 'knows' must be a finite number, not nan."),
    ('outage_kind', 'gone', "Cloud setting 'outage_kind' must be one of refused, unavailable, not 'gone'."),
    ('outages', ('9',), "An outage must be BEGIN-END in s, such as 60-90, not '9'."),
    ('outages', ('9-8',), "An outage must begin at 0 s or later and end after it began, unlike '9-8'."),
    ('outages', ('nan-8',), "An outage must begin at 0 s or later and end after it began, unlike 'nan-8'."),
    ('colour', 1, "There is no cloud setting 'colour'."),
])
def test_a_bad_value_gets_a_sentence(name: str, value: object, words: str) -> None:
    with pytest.raises(CloudError) as caught:
        CloudSettings().changed(**{name: value})
    assert str(caught.value) == words


def test_the_constructor_checks_too() -> None:
    with pytest.raises(CloudError, match='power'):
        CloudSettings(power=-1.0)
    with pytest.raises(CloudError, match='must not add up'):
        CloudSettings(error_share=0.5, drop_share=0.4, stall_share=0.2)


@pytest.mark.parametrize(('text', 'words'), [
    (None, 'cannot be read'), ('[', 'cannot be read'), ('3', 'must map'), ('slots: 0', 'must be from 1'),
])
def test_a_bad_file_is_named(tmp_path: Path, text: str | None, words: str) -> None:
    path = tmp_path / 'cloud.yaml'
    if text is not None:
        path.write_text(text)
    with pytest.raises(CloudError, match=words) as caught:
        CloudSettings().read(path)
    assert str(path) in str(caught.value)


def test_outages_are_in_order() -> None:
    assert CloudSettings(outages=('50-60', '1-2')).outage_times == (Outage(1.0, 2.0), Outage(50.0, 60.0))


def test_an_unknown_regime_gets_the_list() -> None:
    with pytest.raises(CloudError, match=r"no regime 'quick'.*paper, fast, slow, outage, limited"):
        regime('quick')
