"""A `SnapshotStore` that keeps the saved form in a dictionary, for tests and dry runs."""

from collections.abc import Mapping

from live_memory.core.memory.snapshot import from_form, root_of, to_form
from live_memory.core.memory.window import Window
from live_memory.core.values import WorkspaceKey

__all__ = ["InMemory"]


class InMemory:
    """Goes through the saved form, so that what does not survive a restart does not here either."""

    def __init__(self) -> None:
        self._forms: dict[WorkspaceKey, dict[str, object]] = {}

    async def load(self, key: WorkspaceKey) -> Window | None:
        """Rebuild the window from its saved form."""
        form = self._forms.get(key)
        return None if form is None else from_form(form)

    async def save(self, key: WorkspaceKey, root: str, window: Window) -> None:
        """Keep the saved form."""
        self._forms[key] = to_form(window, root=root)

    async def forget(self, key: WorkspaceKey) -> None:
        """Drop it."""
        self._forms.pop(key, None)

    async def roots(self) -> Mapping[WorkspaceKey, str]:
        """The root each was saved with."""
        return {key: root_of(form) for key, form in self._forms.items()}
