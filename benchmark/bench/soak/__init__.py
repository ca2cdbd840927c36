"""The parts of the suite `soak`."""
