"""The dialogue node together with the local stand-in for the cloud; talk to it with `ros2 run pace_ros ask`.

ros2 launch pace_ros demo.launch.py
"""
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """`local_llm` on its default port, where the node looks for a model if nothing else is configured."""
    node = PathJoinSubstitution([FindPackageShare('pace_ros'), 'launch', 'pace.launch.py'])
    return LaunchDescription([
        DeclareLaunchArgument('namespace', default_value='', description='Namespace of the robot.'),
        DeclareLaunchArgument('log_level', default_value='info', description='debug, info, warn, error or fatal.'),
        Node(package='pace_ros', executable='local_llm', name='local_llm', output='screen'),
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(node),
            launch_arguments={
                'namespace': LaunchConfiguration('namespace'),
                'log_level': LaunchConfiguration('log_level'),
            }.items(),
        ),
    ])
