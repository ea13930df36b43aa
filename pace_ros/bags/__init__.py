"""Bags: sessions recorded on the showroom floor, read, replayed and compared without a ROS installation."""
from pace_ros.bags.reading import BagError, Stamped, is_bag, read_messages
from pace_ros.bags.writing import BagWriter

__all__ = ['BagError', 'BagWriter', 'Stamped', 'is_bag', 'read_messages']
