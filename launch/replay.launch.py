"""The inputs of a bag again, or all of it, with ROS 2's own player.

It keeps the spacing only: `bag replay` also waits for turns, keeps interruptions at every rate, and compares.

ros2 launch pace_ros replay.launch.py bag:=/data/monday recorded:=robot1 namespace:=robot2 rate:=1.0
"""
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from launch import LaunchContext, LaunchDescription
from pace_ros.bags.session import BODY, INPUTS, OUTPUTS, resolved

ARGUMENTS = (
    ('bag', 'session', 'Folder of the bag.'),
    ('recorded', '', 'Namespace of the robot in the bag.'),
    ('namespace', '', 'Namespace of the robot spoken to.'),
    ('rate', '1.0', 'Spacing is divided by it.'),
    ('everything', 'false', 'All topics of the robot instead of the inputs.'),
)


def player(context: LaunchContext) -> list[ExecuteProcess]:
    """`ros2 bag play` with /clock."""
    value = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    names = (*INPUTS, *OUTPUTS, *BODY) if value['everything'].lower() == 'true' else INPUTS
    pairs = [(resolved(name, value['recorded']), resolved(name, value['namespace'])) for name in names]
    renamed = [f'{there}:={here}' for there, here in pairs if there != here]
    return [ExecuteProcess(
        cmd=['ros2', 'bag', 'play', value['bag'], '--clock', '100', '--rate', value['rate'],
             '--topics', *(there for there, _ in pairs), *(['--remap', *renamed] if renamed else [])],
        output='screen',
    )]


def generate_launch_description() -> LaunchDescription:
    """One player; the launch ends with it."""
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS),
        OpaqueFunction(function=player),
    ])
