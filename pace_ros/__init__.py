"""A dialogue node for a showroom robot that answers from the cheapest good source and never freezes."""
