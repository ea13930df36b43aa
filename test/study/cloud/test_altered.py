from __future__ import annotations

import pytest

from pace_ros.study.cloud.altered import altered


@pytest.mark.parametrize(('answer', 'wrong'), [
    ('售价199,800元，首付30%。', '售价299,800元，首付29%。'),
    ('The rate is 3.9% for 36 months.', 'The rate is 4.9% for 35 months.'),
    ('质保1年。', '质保2年。'),
    ('990 km', '890 km'),
    ('公司于1987年成立。', '公司于1990年成立。'),
    ('X5配5G网络，七座。', 'X5配5G网络，八座。'),
    ('利率百分之三。', '利率百分之四。'),
    ('It seats seven.', 'It seats eight.'),
    ('有白色和蓝色。', None),
])
def test_other_numbers(answer: str, wrong: str | None) -> None:
    assert altered(answer, '') == wrong


def test_numbers_of_the_question_stay() -> None:
    assert altered('分36期时利率是3.9%。', '分36期利率多少？') == '分36期时利率是4.9%。'
