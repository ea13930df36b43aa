"""What may enter the cache by the age of its class."""
from __future__ import annotations

import pytest

from pace_ros.aging import Aging, read_rules
from pace_ros.cache.admission import Admission, admit

RULES = read_rules(['stock=ttl:900', 'zh/price=off', 'stable=ttl:86400'])


@pytest.mark.parametrize(('aging', 'category', 'locale', 'expected'), [
    (Aging('deny', 3600.0), 'price', 'en', Admission(False, 'price: deny')),
    (Aging('ttl', 3600.0), 'price', 'en', Admission(True, 'price: ttl 3600 s', 3600.0)),
    (Aging('off', 3600.0), 'price', 'en', Admission(True, 'price: off')),
    (Aging('deny', 3600.0), 'stable', 'en', Admission(True, 'stable')),
    (Aging('deny', 3600.0, RULES), 'stock', 'en', Admission(True, 'stock: ttl 900 s', 900.0)),
    (Aging('deny', 3600.0, RULES), 'price', 'en-GB', Admission(False, 'price: deny')),
    (Aging('deny', 3600.0, RULES), 'price', 'zh-CN', Admission(True, 'price: off')),
    (Aging('deny', 3600.0, RULES), 'stable', 'zh', Admission(True, 'stable: ttl 86400 s', 86400.0)),
])
def test_admission(aging: Aging, category: str, locale: str, expected: Admission) -> None:
    assert admit(aging, category, locale) == expected
