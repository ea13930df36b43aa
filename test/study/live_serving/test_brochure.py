from __future__ import annotations

from pace_ros.study.live_serving.brochure import A_SENTENCE, brochure


def test_a_brochure_is_its_seed() -> None:
    assert brochure(340, 3) == brochure(340, 3)
    assert brochure(340, 3).count('.') == 1 + round(340 / A_SENTENCE)
    assert brochure(1, 4).split()[:2] == ['Brochure', '4.']
