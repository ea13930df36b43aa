import pytest

from pace_ros.cache import Admission, admit, scope_of


@pytest.mark.parametrize('policy', ['off', 'ttl', 'deny'])
def test_a_stable_answer_is_kept_until_evicted_whatever_the_policy(policy: str) -> None:
    assert admit(volatile=False, policy=policy, ttl=3600.0) == Admission(True, 'stable', None)


@pytest.mark.parametrize(
    ('policy', 'admitted', 'ttl'), [('deny', False, None), ('ttl', True, 3600.0), ('off', True, None)]
)
def test_a_volatile_answer_follows_the_policy(policy: str, admitted: bool, ttl: float | None) -> None:
    decided = admit(volatile=True, policy=policy, ttl=3600.0)
    assert (decided.admitted, decided.ttl) == (admitted, ttl)
    assert 'volatil' in decided.reason


def test_answers_are_shared_within_a_language_and_not_beyond() -> None:
    assert scope_of('zh-CN') == scope_of('zh-TW') == scope_of('ZH_Hans') == 'zh'
    assert scope_of('en-US') == scope_of('en') == 'en'
