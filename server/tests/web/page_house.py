"""What tests of the page share: a server with a repository, and a browser that looks at it."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from tests.support.server import RunningServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["House", "accessible", "key_of", "launched", "settled", "tab_to"]

_WAIT_MS = 15_000


@dataclass(frozen=True, slots=True)
class House:
    """A server with a repository that it knows, and a browser."""

    server: RunningServer
    project: Path
    key: str
    browser: "Browser"

    def link(self) -> str:
        """What `live-memory ui` prints in the repository."""
        secret = self.server.request("POST", "/v1/page/link", {}).json["secret"]
        return f"{self.server.base_url}/ui#open={secret}"

    @contextmanager
    def page(
        self, *, width: int = 1280, scheme: str = "light", refused: str = "nothing"
    ) -> Iterator["Page"]:
        """The page, opened by a link; nothing may have gone wrong on it at the end.

        But for what is `refused`, which the browser itself complains of.
        """
        context = self.browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
        )
        context.set_default_timeout(_WAIT_MS)
        page = context.new_page()
        wrong: list[str] = []
        page.on("console", lambda said: wrong.append(said.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        try:
            page.goto(self.link())
            page.get_by_role("heading", name="What is remembered").wait_for()
            yield page
            assert [each for each in wrong if refused not in each] == []
        finally:
            context.close()

    def go(self, page: "Page", view: str = "") -> None:
        """Show a view of the repository."""
        page.goto(f"{self.server.base_url}/ui#/w/{self.key}{view}")
        page.get_by_role("heading", level=1, name=self.project.name).wait_for()


def key_of(server: RunningServer, project: Path) -> str:
    """The key of a repository's workspace."""
    workspace = server.request("GET", f"/stats?cwd={quote(str(project))}").json["workspace"]
    assert isinstance(workspace, dict)
    return str(workspace["key"])


@contextmanager
def launched() -> Iterator["Browser"]:
    """The system's Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


def accessible(page: "Page") -> Sequence[str]:
    """What an accessibility checker finds wrong."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{each['id']}: {[n['html'][:120] for n in each['nodes']]}" for each in found]


def settled(page: "Page") -> None:
    """Wait until nothing is loading."""
    page.locator("main .working").first.wait_for(state="hidden")


def tab_to(page: "Page", is_it: Callable[[str], bool]) -> None:
    """Press the tab key until what has the focus is meant, by its text."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if is_it(page.evaluate("document.activeElement.textContent")):
            return
    raise AssertionError("it cannot be reached with the tab key")
