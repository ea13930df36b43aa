"""The dialogue node, and on request its observer, for inclusion in a showroom's own launch file.

ros2 launch pace_ros pace.launch.py namespace:=robot1 params_file:=/path/to/pace.yaml
"""
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

from launch import LaunchDescription

ARGUMENTS = (
    ('namespace', '', 'Namespace of the robot; two robots need two.'),
    ('params_file', PathJoinSubstitution([FindPackageShare('pace_ros'), 'config', 'pace.yaml']), 'Parameters (YAML).'),
    ('use_sim_time', 'false', 'Stamp messages by /clock; durations never depend on it.'),
    ('autostart', 'true', 'Configure and activate without a lifecycle manager.'),
    ('log_level', 'info', 'debug, info, warn, error or fatal.'),
    ('use_respawn', 'false', 'Start the node again should it end.'),
    ('observer', 'false', 'Start onset_observer beside it: when a bystander could see and hear each response.'),
)


def generate_launch_description() -> LaunchDescription:
    """One lifecycle node named `dialogue`, and perhaps `onset_observer`."""
    return LaunchDescription([
        *(DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS),
        Node(
            package='pace_ros',
            executable='dialogue',
            name='dialogue',
            namespace=LaunchConfiguration('namespace'),
            output='screen',
            respawn=LaunchConfiguration('use_respawn'),
            respawn_delay=2.0,
            arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
            parameters=[
                LaunchConfiguration('params_file'),
                {
                    'use_sim_time': ParameterValue(LaunchConfiguration('use_sim_time'), value_type=bool),
                    'autostart': ParameterValue(LaunchConfiguration('autostart'), value_type=bool),
                },
            ],
        ),
        Node(
            package='pace_ros',
            executable='onset_observer',
            name='onset_observer',
            namespace=LaunchConfiguration('namespace'),
            output='screen',
            condition=IfCondition(LaunchConfiguration('observer')),
            arguments=['--ros-args', '--log-level', LaunchConfiguration('log_level')],
            parameters=[
                LaunchConfiguration('params_file'),
                {'use_sim_time': ParameterValue(LaunchConfiguration('use_sim_time'), value_type=bool)},
            ],
        ),
    ])
