"""One diagnostic status for each level, and one for the router."""
from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from pace_ros.assembly import Assembly
from pace_ros.config import Config
from pace_ros.control import ControllerState

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


def diagnose(name: str, assembly: Assembly, config: Config, limbs: dict[str, str]) -> DiagnosticArray:
    """The state of L0, L1, L2, router, filler, speech and body; ``name`` is the node's full name, ``limbs`` what is
    wrong with gaze and gestures.
    """
    state = assembly.controller_state()
    statuses = [
        _status(name, *parts)
        for parts in (
            _l0(assembly, config), _l1(assembly), _l2(assembly), _router(assembly, state),
            _filler(assembly, config, state),
            _speech(assembly, config),
            _body(config, limbs),
        )
    ]
    return DiagnosticArray(status=statuses)


def _status(name: str, level: str, severity: bytes, message: str, values: dict[str, object]) -> DiagnosticStatus:
    return DiagnosticStatus(
        level=severity,
        name=f'{name}: {level}',
        hardware_id=name,
        message=message,
        values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
    )


Parts = tuple[str, bytes, str, dict[str, object]]


def _l0(assembly: Assembly, config: Config) -> Parts:
    cache = assembly.cache
    values: dict[str, object] = {
        'entries': len(cache), 'lookups': cache.lookups, 'hits': cache.hits, 'stale rejects': cache.stale_rejects,
        'damaged entries': cache.damaged,
        'volatility': ' '.join((config.volatility.policy, *config.volatility.rules)),
        **{f'changes of {category}': str(proposal)
           for category, proposal in assembly.freshness.proposals(config.volatility.target_stale).items()},
    }
    error = assembly.cache_error or cache.error or assembly.saver.error
    return 'L0', WARN if error else OK, f'not kept: {error}' if error else f'{len(cache)} entries', values


def _l1(assembly: Assembly) -> Parts:
    return 'L1', OK, f'{len(assembly.knowledge)} entries', {'entries': len(assembly.knowledge)}


def _l2(assembly: Assembly) -> Parts:
    state = assembly.llm.breaker.state
    values: dict[str, object] = {
        'endpoint': assembly.endpoint.base_url, 'model': assembly.endpoint.model, 'breaker': state,
        'hedged share': f'{assembly.llm.share:.3f}',
    }
    if assembly.llm.second is not assembly.llm.first:
        values['hedge breaker'] = assembly.llm.second.breaker.state
    if state != 'closed':
        return 'L2', ERROR, f'breaker {state}', values
    second = assembly.llm.second.breaker.state
    return 'L2', OK if second == 'closed' else WARN, f'breaker {state}, for hedges {second}', values


def _router(assembly: Assembly, state: ControllerState) -> Parts:
    router, decision = state.router, state.router.decision
    values: dict[str, object] = {
        'mode': state.mode,
        'lambda': f'{decision.load_index:.3f}',
        'thresholds': f'{decision.theta_cache:.3f} / {decision.theta_direct:.3f}',
        'gate': 'STATIC' if router.gate.static else 'ADAPTIVE',
        'gate reason': router.gate.reason,
        'quiet windows': router.gate.quiet_windows,
        **{f'trigger {each.name}': str(each) for each in router.gate.triggers},
        'TTFT average': f'{decision.ttft_ewma:.3f} s',
        'TTFT age': f'{router.ttft_age:.0f} s',
        'tokens per turn': f'{state.tokens_per_turn:.1f}',
        'probes in 24 h': state.probes,
    }
    if router.starved:
        return 'router', WARN, f'no first token for {router.ttft_age:.0f} s while visitors come', values
    if assembly.keeper.error:
        return 'router', WARN, f'its memory cannot be saved: {assembly.keeper.error}', values
    return 'router', OK, decision.reason, values


def _filler(assembly: Assembly, config: Config, state: ControllerState) -> Parts:
    values: dict[str, object] = {
        'mode': config.filler.mode,
        'decision': state.filler_decision,
        'P(inst)': f'{state.router.decision.p_instant:.3f}',
        'budget': f'{state.budget:.2f} s',
        'generations per turn': f'{state.fillers_per_turn:.3f}',
        'measured': state.fillers_measured,
        'conflict rate': f'{state.conflict_rate:.4f}',
    }
    if assembly.generator_error:
        return 'filler', WARN, f'placeholders only: {assembly.generator_error}', values
    return 'filler', OK, config.filler.mode, values


def _speech(assembly: Assembly, config: Config) -> Parts:
    values: dict[str, object] = {
        'speaker': assembly.voice.speaker.name,
        'speaking': assembly.voice.speaking is not None,
        'turns running': assembly.dialogue.running,
        'conversations': assembly.dialogue.open_conversations,
        'records written': assembly.writer.written if assembly.writer else 0,
    }
    if not config.speech.enabled:
        return 'speech', OK, 'off', values
    if assembly.voice.error:
        return 'speech', ERROR, assembly.voice.error, values
    if assembly.writer is not None and assembly.writer.error:
        return 'speech', WARN, f'turns cannot be recorded: {assembly.writer.error}', values
    return 'speech', OK, assembly.voice.speaker.name, values


def _body(config: Config, limbs: dict[str, str]) -> Parts:
    values: dict[str, object] = {'gaze': config.gaze.enabled, 'gestures': config.gesture.enabled, **limbs}
    if limbs:
        return 'body', WARN, '; '.join(f'{name}: {problem}' for name, problem in limbs.items()), values
    return 'body', OK, 'gaze and gestures', values
