"""One module a suite; each takes a setup and gives an outcome."""
