"""One diagnostic status for each level."""
from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from pace_ros.assembly import Assembly
from pace_ros.config import Config

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


def diagnose(name: str, assembly: Assembly, config: Config) -> DiagnosticArray:
    """The state of L0, L1, L2, filler and speech; ``name`` is the node's full name."""
    statuses = [
        _status(name, *parts)
        for parts in (_l0(assembly), _l1(assembly), _l2(assembly), _filler(assembly, config), _speech(assembly, config))
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


def _l0(assembly: Assembly) -> Parts:
    cache = assembly.cache
    values: dict[str, object] = {
        'entries': len(cache), 'lookups': cache.lookups, 'hits': cache.hits, 'stale rejects': cache.stale_rejects
    }
    error = assembly.saver.error if assembly.saver else ''
    return 'L0', WARN if error else OK, f'cannot be saved: {error}' if error else f'{len(cache)} entries', values


def _l1(assembly: Assembly) -> Parts:
    return 'L1', OK, f'{len(assembly.knowledge)} entries', {'entries': len(assembly.knowledge)}


def _l2(assembly: Assembly) -> Parts:
    state = assembly.llm.breaker.state
    values: dict[str, object] = {
        'endpoint': assembly.endpoint.base_url, 'model': assembly.endpoint.model, 'breaker': state
    }
    return 'L2', OK if state == 'closed' else ERROR, f'breaker {state}', values


def _filler(assembly: Assembly, config: Config) -> Parts:
    if assembly.generator_error:
        return 'filler', WARN, f'placeholders only: {assembly.generator_error}', {'mode': config.filler.mode}
    return 'filler', OK, config.filler.mode, {'mode': config.filler.mode}


def _speech(assembly: Assembly, config: Config) -> Parts:
    values: dict[str, object] = {
        'sink': assembly.voice.sink.name,
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
    return 'speech', OK, f'sink {assembly.voice.sink.name}', values
