"""Installs the package the way ament_python expects it."""
from pathlib import Path

from setuptools import find_packages, setup

NAME = 'pace_ros'


def tree(folder: str) -> list[tuple[str, list[str]]]:
    """Every file below ``folder``, for installation under ``share/pace_ros`` with the same layout."""
    folders = [Path(folder), *sorted(path for path in Path(folder).rglob('*') if path.is_dir())]
    return [
        (f'share/{NAME}/{path}', [str(file) for file in sorted(path.iterdir()) if file.is_file()])
        for path in folders
    ]


setup(
    name=NAME,
    version='0.1.0',
    packages=find_packages(include=[NAME, f'{NAME}.*']),
    package_data={NAME: ['py.typed', 'study/*.html', 'study/results/*.html']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{NAME}']),
        (f'share/{NAME}', ['package.xml']),
        *tree('config'),
        *tree('data'),
        *tree('launch'),
    ],
    install_requires=['setuptools'],
    zip_safe=True,
    maintainer='pace_ros maintainers',
    maintainer_email='pace_ros@users.noreply.github.com',
    description='A dialogue node for a showroom robot that answers from the cheapest good source.',
    license='Apache-2.0',
    entry_points={
        'console_scripts': [
            'ask = pace_ros.ros.ask:main',
            'bag = pace_ros.bags.tool:main',
            'cache = pace_ros.cache.tool:main',
            'demo = pace_ros.ros.demo:main',
            'dialogue = pace_ros.ros.dialogue:main',
            'l2_fleet = pace_ros.serving.local_fleet:main',
            'l2_gateway = pace_ros.serving.l2_gateway:main',
            'l2_replica = pace_ros.serving.l2_replica:main',
            'local_llm = pace_ros.serving.local_llm:main',
            'onset_observer = pace_ros.ros.onset_observer:main',
            'session = pace_ros.ros.session:main',
            'sim_robot = pace_ros.ros.sim_robot:main',
            'spot_check = pace_ros.ros.spot_check:main',
            'study = pace_ros.study.main:main',
            'volatility = pace_ros.study.volatility:main',
        ],
    },
)
