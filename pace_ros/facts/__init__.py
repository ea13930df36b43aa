"""Facts in texts: what makes two questions different, and two statements contradict each other."""
from pace_ros.facts.facts import FactExtractor, Facts, difference
from pace_ros.facts.lexicon import AntonymError
from pace_ros.facts.names import NamesError, ProductNames
from pace_ros.facts.polarity import Polarity

__all__ = ['AntonymError', 'FactExtractor', 'Facts', 'NamesError', 'Polarity', 'ProductNames', 'difference']
