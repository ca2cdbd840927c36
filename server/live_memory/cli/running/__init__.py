"""Whether the server runs: started, found, replaced and stopped from the command line."""
