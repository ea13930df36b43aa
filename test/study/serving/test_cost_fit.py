"""Costs are found again in times that were made from them."""
from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pace_ros.study.serving.calibration import costs_of
from pace_ros.study.serving.cost_fit import FitError, fit, predict, typical
from pace_ros.study.serving.probes import KINDS, READ, RESTORE, SAVE, STEP


def made(base: float = 0.05, token: float = 0.008, pair: float = 2e-6) -> pd.DataFrame:
    """Times of a replica that costs exactly that, three times undisturbed, once disturbed and once lucky."""
    rows = [(READ, n, d, 0, base + token * n + pair * n * (d + n / 2), 0)
            for n, d in ((32, 0), (256, 0), (1024, 0), (64, 512), (128, 1024))]
    rows += [(STEP, 0, d, b, 0.01 + 0.004 * b + 1e-6 * b * d, 0) for b in (1, 2, 4) for d in (64, 512)]
    rows += [(kind, n, 0, 0, 0.002 + 1e-5 * n, 23_000 * n) for kind in (SAVE, RESTORE) for n in (128, 512, 1024)]
    frame = pd.DataFrame(rows, columns=['kind', 'tokens', 'depth', 'batch', 'seconds', 'size'])
    return pd.concat([frame.assign(seconds=frame['seconds'] * each) for each in (1, 3, 1, 0.8, 1)], ignore_index=True)


def test_known_costs_are_found_and_odd_repetitions_do_not_count() -> None:
    costs = costs_of([fit(made(), kind) for kind in KINDS], made())
    found = (costs.prefill_base, costs.prefill_token, costs.attend, costs.decode_base, costs.decode_stream,
             costs.decode_token, costs.save_base, costs.save_token, costs.restore_token, costs.kv_bytes)
    assert found == pytest.approx((0.05, 0.008, 2e-6, 0.01, 0.004, 1e-6, 0.002, 1e-5, 1e-5, 23_000), rel=1e-3)
    assert costs.prefill(64, 512) == pytest.approx(0.05 + 0.512 + 2e-6 * 64 * 544, rel=1e-3)


@settings(max_examples=20, deadline=None)
@given(st.floats(1e-4, 0.1), st.floats(1e-5, 0.01), st.floats(1e-9, 1e-5))
def test_a_fit_predicts_what_it_was_made_from(base: float, token: float, pair: float) -> None:
    rows = made(base, token, pair)
    found = fit(rows, READ)
    own = typical(rows.loc[rows['kind'] == READ])
    assert predict(found, own) == pytest.approx(own['seconds'].to_numpy(), rel=0.02)
    assert found.median_error < 0.02
    assert min(found.coefficients.values()) >= 0


def test_no_coefficient_is_below_zero_where_times_fall_with_length() -> None:
    rows = pd.DataFrame([(SAVE, n, 0, 0, 0.01 - n * 1e-6, n) for n in (100, 500, 1000)],
                        columns=['kind', 'tokens', 'depth', 'batch', 'seconds', 'size'])
    assert min(fit(rows, SAVE).coefficients.values()) >= 0


def test_too_few_settings_are_refused() -> None:
    with pytest.raises(FitError, match="1 settings of 'save' were measured"):
        fit(made().head(0).pipe(lambda _: pd.DataFrame([(SAVE, 9, 0, 0, 0.1, 9)], columns=made().columns)), SAVE)
