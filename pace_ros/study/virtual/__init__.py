"""Virtual time: waiting costs nothing, computing is charged as measured or at fixed cost."""
