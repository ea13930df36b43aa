"""All topics of a session into a bag, with ROS 2's own recorder (`bag record` does the same without it).

ros2 launch pace_ros record.launch.py namespace:=robot1 out:=/data/monday
"""
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.substitutions import LaunchConfiguration

from launch import LaunchContext, LaunchDescription
from pace_ros.bags.session import SESSION, resolved

ARGUMENTS = (
    ('namespace', '', 'Namespace of the robot.'),
    ('out', 'session', 'Folder to create.'),
    ('storage', 'mcap', 'mcap or sqlite3.'),
    ('also', '', 'Further topics with blanks between them, e.g. speech_audio.'),
)


def recorder(context: LaunchContext) -> list[ExecuteProcess]:
    """`ros2 bag record`; a pattern, since that is understood from Humble on and topics may come later."""
    value = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    topics = [resolved(name, value['namespace']) for name in (*SESSION, *value['also'].split())]
    return [ExecuteProcess(
        cmd=['ros2', 'bag', 'record', '-s', value['storage'], '-o', value['out'], '--include-unpublished-topics',
             '--regex', f'^({"|".join(topics)})$'],
        output='screen',
        sigterm_timeout='10',  # it writes the index when it is interrupted
    )]


def generate_launch_description() -> LaunchDescription:
    """One recorder, ended with the launch."""
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS),
        OpaqueFunction(function=recorder),
    ])
