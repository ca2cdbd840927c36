"""`python -m live_memory` is the command `live-memory`."""

from live_memory.cli.main import main

if __name__ == "__main__":
    main()
