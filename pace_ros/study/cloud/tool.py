"""Serve the simulated cloud from a process of its own: an OpenAI-compatible endpoint on loopback."""
from __future__ import annotations

import argparse
from pathlib import Path

import yaml

from pace_ros.study.cloud.answers import Answers
from pace_ros.study.cloud.calibration import like
from pace_ros.study.cloud.load import anchored
from pace_ros.study.cloud.regimes import REGIMES, regime
from pace_ros.study.cloud.server import serve
from pace_ros.study.cloud.settings import CloudError, CloudSettings
from pace_ros.study.cloud.simulated import SimulatedCloud
from pace_ros.study.datasets.registry import load
from pace_ros.study.datasets.world import World

DEFAULT_PORT = 8078


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command line."""
    parser.add_argument('--port', type=int, default=DEFAULT_PORT, help='0 chooses a free one (default: %(default)s)')
    parser.add_argument('--dataset', default='carqa', help='whose questions it can answer (default: %(default)s)')
    parser.add_argument('--data', type=Path, metavar='DIR', help='where public data sets lie')
    parser.add_argument('--seed', type=int, default=0, help='of all that is drawn (default: %(default)s)')
    add_settings(parser)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Declare how a cloud is chosen: the later of these options, in the order of this help, replace the earlier."""
    parser.add_argument('--regime', default='paper', metavar='NAME', help=f'one of {", ".join(REGIMES)} '
                        '(default: %(default)s)')
    parser.add_argument('--like', type=Path, metavar='LOG', help='latencies fitted to the L2 turns of a log')
    parser.add_argument('--settings', type=Path, metavar='FILE', help='YAML of settings to replace')
    parser.add_argument('--anchors', nargs=2, metavar='C:S', help='fit median and knee so that the first token takes '
                        'so many s (median) at two offered concurrencies, e.g. 1:1.0 32:4.0')
    parser.add_argument('--tokens', type=float, default=27.0, help='of a mean answer, for --anchors (default: '
                        '%(default)s)')
    parser.add_argument('--set', action='append', default=[], metavar='NAME=VALUE', dest='changes',
                        help='one setting to replace; may be repeated')


def settings_of(options: argparse.Namespace) -> CloudSettings:
    """The settings that the options of ``add_settings`` choose. Raises CloudError."""
    settings = regime(options.regime)
    if options.like is not None:
        found = like(options.like)
        settings = settings.changed(**{name: getattr(found, name) for name in (
            'first_token_median', 'first_token_sigma', 'gap_mean', 'gap_shape', 'knee', 'power')})
    if options.settings is not None:
        settings = settings.read(options.settings)
    if options.anchors is not None:
        low, high = map(_anchor, options.anchors)
        settings = anchored(settings, low, high, options.tokens)
    for change in options.changes:
        name, equals, value = change.partition('=')
        if not equals:
            raise CloudError(f'A setting must be NAME=VALUE, not {change!r}.')
        try:
            settings = settings.changed(**{name.strip(): yaml.safe_load(value)})
        except yaml.YAMLError:
            raise CloudError(f'The value of a setting cannot be read: {change!r}.') from None
    return settings


def _anchor(text: str) -> tuple[float, float]:
    concurrency, _, first_token = text.partition(':')
    try:
        anchor = float(concurrency), float(first_token)
    except ValueError:
        raise CloudError(f'An anchor must be CONCURRENCY:SECONDS, not {text!r}.') from None
    if not min(anchor) > 0.0:
        raise CloudError(f'An anchor must be of positive numbers, not {text!r}.')
    return anchor


def run(options: argparse.Namespace) -> int:
    """Serve until interrupted; prints the base URL once it listens. Raises CloudError, DataSetError."""
    settings = settings_of(options)
    if not 0 <= options.port <= 65_535:
        raise CloudError(f'A port is from 0 to 65535, not {options.port}.')
    data = load(options.dataset, options.data)
    cloud = SimulatedCloud(Answers(data, World(data)), settings, seed=options.seed)
    try:
        serve(cloud, options.port, lambda url: print(url, flush=True))  # noqa: T201  what a caller waits for
    except OSError as error:
        raise CloudError(f'The simulated cloud cannot listen on port {options.port}: {error.strerror}.') from error
    return 0
