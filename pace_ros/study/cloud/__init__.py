"""A simulated cloud: an OpenAI-compatible endpoint whose delays, queues, outages and answers are drawn from a seed."""
from pace_ros.study.cloud.answers import Answers, texts_of
from pace_ros.study.cloud.regimes import REGIMES, regime
from pace_ros.study.cloud.settings import CloudError, CloudSettings
from pace_ros.study.cloud.simulated import SimulatedCloud, Speaker

__all__ = ['REGIMES', 'Answers', 'CloudError', 'CloudSettings', 'SimulatedCloud', 'Speaker', 'regime', 'texts_of']
