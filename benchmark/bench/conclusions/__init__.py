"""What agents concluded, and whether an answer leads with it while it is true."""
