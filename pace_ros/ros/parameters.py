"""ROS parameters derived from the configuration tree, and the tree rebuilt from them."""
from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterUninitializedException,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from pace_ros.config import Config
from pace_ros.settings import ConfigError, Setting, settings_of, with_values

FOREIGN = ('use_sim_time', 'qos_overrides.', 'start_type_description_service')  # declared by rclpy itself


def descriptor(setting: Setting) -> ParameterDescriptor:
    """Meaning, range and read-only flag, as tools show them."""
    result = ParameterDescriptor(name=setting.name, description=setting.doc, read_only=setting.read_only)
    if setting.choices:
        result.additional_constraints = f'one of: {", ".join(setting.choices)}'
    if setting.low is not None and setting.high is not None:
        if isinstance(setting.default, float):
            result.floating_point_range = [FloatingPointRange(from_value=setting.low, to_value=setting.high)]
        else:
            result.integer_range = [IntegerRange(from_value=int(setting.low), to_value=int(setting.high))]
    return result


class NodeConfig:
    """The configuration in force; changes at run time are checked as a whole before any of them counts."""

    def __init__(self, node: Node, on_change: Callable[[], None] = lambda: None) -> None:
        """Declare every parameter. Raises ConfigError with a sentence that names the parameter at fault."""
        self._settings = {setting.name: setting for setting in settings_of(Config)}
        self._on_change = on_change
        values = {name: declare(node, setting) for name, setting in self._settings.items()}
        self._config = with_values(Config(), values)
        warn_of_unknown(node, values)
        node.add_on_set_parameters_callback(self._on_set)

    def __call__(self) -> Config:
        """The configuration in force."""
        return self._config

    def _on_set(self, parameters: Iterable[Parameter]) -> SetParametersResult:
        changes = {each.name: each.value for each in parameters if each.name in self._settings}
        try:
            self._config = with_values(self._config, changes)
        except ConfigError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self._on_change()
        return SetParametersResult(successful=True)


def _read_off(node: Node, setting: Setting) -> None:
    """YAML, and so `-p filler.mode:=off`, takes an unquoted off for false; where off is a choice it is meant."""
    overrides = node._parameter_overrides  # noqa: SLF001  rclpy offers no other way to a value before its declaration
    if 'off' in setting.choices and setting.name in overrides and overrides[setting.name].value is False:
        overrides[setting.name] = Parameter(setting.name, value='off')


def warn_of_unknown(node: Node, known: Collection[str]) -> None:
    """Say which parameters were given that the node does not have."""
    for name in set(node._parameter_overrides) - set(known):  # noqa: SLF001  they are kept nowhere else
        if not name.startswith(FOREIGN):
            node.get_logger().warning(f"There is no parameter '{name}'; it is ignored.")


def declare(node: Node, setting: Setting) -> object:
    """Declare one parameter; returns its value. Raises ConfigError with a sentence that names it."""
    # rclpy cannot tell the type of an empty list; the empty string in it is dropped again on reading.
    default = list(setting.default) or [''] if isinstance(setting.default, tuple) else setting.default
    _read_off(node, setting)
    try:
        return node.declare_parameter(setting.name, default, descriptor(setting)).value
    except (
        InvalidParameterTypeException, InvalidParameterValueException, ParameterUninitializedException
    ) as error:
        override = node._parameter_overrides.get(setting.name)  # noqa: SLF001  the refused value is kept nowhere else
        setting.checked(override.value if override is not None else None)  # says it better than rclpy
        raise ConfigError(f"Parameter '{setting.name}': {error}") from error
