"""`python -m live_memory` is the command `live-memory`."""

import sys
from importlib.util import find_spec
from runpy import run_module

from live_memory import __version__

__all__: list[str] = []


def _run() -> None:
    # What hosts start beside the agent needs none of the libraries.
    if sys.argv[1:] == ["mcp"]:
        from live_memory.client.bridge import main as bridge  # noqa: PLC0415

        bridge()
    if sys.argv[1:2] == ["hook"]:
        del sys.argv[1]
        run_module("live_memory.client.hook", run_name="__main__")
    # The plugin asks this each time, to see whether this installation runs: so it takes a third.
    if sys.argv[1:] == ["--version"] and all(map(find_spec, ("click", "pydantic", "mcp"))):
        try:
            print(f"live-memory, version {__version__}", flush=True)  # as the command says it
        except OSError:
            pass  # which the command tells as of all others
        else:
            return
    from live_memory.cli.main import main  # noqa: PLC0415  (takes long)

    main()


if __name__ == "__main__":
    _run()
