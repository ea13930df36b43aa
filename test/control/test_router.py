import math
from dataclasses import replace

from pace_ros.config import Router as RouterSettings
from pace_ros.control import Decision, RouterState, StaticRouter


def test_the_static_router_is_pinned_at_the_papers_operating_point() -> None:
    decision = StaticRouter(RouterSettings).decide()
    assert (decision.theta_cache, decision.theta_direct, decision.gate) == (0.95, 0.75, 'static')
    assert math.isnan(decision.load_index)
    assert math.isnan(decision.p_instant)


def test_no_load_moves_a_pinned_threshold() -> None:
    router = StaticRouter(RouterSettings)
    before = router.decide()
    for _ in range(500):
        router.observe_arrival()
        router.observe_ttft(4.0)
        router.observe_path(instant=False)
    after = router.decide()
    assert (after.theta_cache, after.theta_direct, after.gate) == (before.theta_cache, before.theta_direct, before.gate)


def test_a_setting_changed_at_run_time_holds_from_the_next_decision_on() -> None:
    settings = RouterSettings()
    router = StaticRouter(lambda: settings)
    assert router.decide().theta_cache == 0.95
    settings = replace(settings, theta_cache=0.9, theta_direct=0.6)
    assert (router.decide().theta_cache, router.decide().theta_direct) == (0.9, 0.6)


def test_the_state_is_the_decision_and_nothing_measured() -> None:
    state = StaticRouter(RouterSettings).state()
    assert isinstance(state, RouterState)
    assert isinstance(state.decision, Decision)
    assert state.decision.theta_cache == 0.95
    assert math.isnan(state.ttft_ewma)
    assert math.isnan(state.arrival_rate)
    assert state.quiet_windows == 0
