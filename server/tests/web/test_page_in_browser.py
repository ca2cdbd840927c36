"""The page in a real browser, over a real server and a real small repository with a model."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from live_memory.core.saving.journal import JournalHeader, line_of
from live_memory.core.values import WorkspaceKey
from tests.support.learning import make_project, notify, tool, wait_for
from tests.support.scripted_endpoint import Play, Received, Text, serving
from tests.support.server import running_server
from tests.web.page_house import House, accessible, key_of, launched, settled, tab_to

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.real("chromium", "module:playwright", "module:axe_playwright_python")

LIMITS = (
    '"""Limits."""\n\nMAX_RETRIES = 7\n\n\ndef allowed(tries):\n    return tries < MAX_RETRIES\n'
)
SAID = """What I found:

- `MAX_RETRIES` is `7` (limits.py:3).
- `allowed` compares `tries` with `MAX_RETRIES` (limits.py:6-7).
- `send` asks `allowed` first (use.py:4-5).
"""
QUESTION = "How many retries are allowed?"
REPLY = "`allowed` compares `tries` with `MAX_RETRIES`, which is `7` (limits.py:3-7)."
GREETED = "The greeting is `hello` (greet.py:1)."
USAGE = {"prompt_tokens": 1_000, "completion_tokens": 100, "total_tokens": 1_100}
VIEWS = ("", "/notes", "/handoffs", "/findings", "/questions", "/timeline")


def _plays(received: Received) -> Play:
    """The model: it stalls where the question says so."""
    if "forever" in received.raw.decode():
        return Text("It is", then="stall")
    said = GREETED if "greeting" in received.raw.decode() else REPLY
    return Text(said, pieces=4, usage=USAGE)


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with launched() as started:
        yield started


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, browser: "Browser") -> Iterator[House]:
    folder = tmp_path_factory.mktemp("page")
    project = make_project(
        folder / "shop",
        limits__py=LIMITS,
        greet__py='GREETING = "hello"\n',
        use__py="from limits import allowed\n\n\ndef send(n):\n    return allowed(n)\n",
    )
    with serving() as endpoint:
        channel = endpoint.open(rules=[_plays])
        settings = {
            "LIVE_MEMORY_PROVIDER": "openai",
            "LIVE_MEMORY_BASE_URL": f"{channel.base_url}/v1",
            "LIVE_MEMORY_MODEL": "played",
            "LIVE_MEMORY_API_KEY": "none-needed",
            "LIVE_MEMORY_PRICE_INPUT": "1",
            "LIVE_MEMORY_PRICE_OUTPUT": "5",
        }
        with running_server(folder / "server", **settings) as server:
            # Before the agent found it out, so that the model is asked.
            server.ask(QUESTION, project)
            names = ("limits.py", "use.py")
            reads = [tool(project, "Read", file_path=str(project / name)) for name in names]
            stop = {"hook_event_name": "Stop", "session_id": "s1", "cwd": str(project)}
            notify(server, project, *reads, {**stop, "last_assistant_message": SAID})
            wait_for(server, project, "facts", 3)
            yield House(server, project, key_of(server, project), browser)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark"), (820, "light")])
def test_every_view_is_accessible_fits_and_complains_of_nothing(
    house: House, width: int, scheme: str
) -> None:
    with house.page(width=width, scheme=scheme) as page:
        for view in (*VIEWS, None, "health"):
            if view in VIEWS:
                house.go(page, str(view))
            else:
                page.goto(f"{house.server.base_url}/ui#/{view or ''}")
            settled(page)
            assert width == 820 or accessible(page) == [], view
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        house.go(page, "/questions")
        page.get_by_role("link", name=QUESTION).click()
        page.get_by_role("region", name="Lines of limits.py:3-7").wait_for()
        assert accessible(page) == []


def test_a_person_sees_what_is_known_what_it_cost_and_whether_all_is_well(house: House) -> None:
    with house.page() as page:
        glance = page.get_by_role("list", name="At a glance")
        glance.get_by_text("All is well").wait_for()
        stats = house.server.request("GET", f"/stats?cwd={house.project}").json
        house.go(page)
        page.get_by_text(f"It knows {stats['known_files']} files").wait_for()
        cost = float(str(stats["cost_usd"]))
        assert cost > 0
        tiles = page.locator("dl.tiles")
        assert tiles.get_by_text(f"${cost:.4f}", exact=True).count() == 1
        hours = house.server.request("GET", "/v1/overview").json["hours"]
        spent = stats["spend"]
        assert isinstance(hours, list)
        assert isinstance(spent, dict)
        for name in ("cost_usd", "tokens"):
            total = sum(hour[name] for hour in hours)
            assert total == pytest.approx(sum(each[name] for each in spent.values()))
        today = sum(hour["cost_usd"] for hour in hours)
        glance.get_by_text(f"${today:.4f}", exact=True).wait_for()
        asked = house.server.request("GET", f"/v1/questions?cwd={house.project}").json
        rows = asked["questions"]
        assert isinstance(rows, list)
        assert sum(row["saved"] for row in rows) == stats["tokens_saved"]
        page.get_by_role("img", name=re.compile("^The window is .* full")).wait_for()
        page.get_by_role("img", name=re.compile("^Saved, last 30 days")).wait_for()


def test_a_question_is_answered_on_the_page_with_its_places_beside_it(house: House) -> None:
    with house.page() as page:
        house.go(page)
        page.get_by_label("Ask about this codebase").fill("What does the greeting say?")
        page.get_by_role("button", name="Ask", exact=True).click()
        answer = page.get_by_role("region", name="Answer")
        answer.get_by_text("The greeting is").wait_for()
        assert "played" in answer.inner_text()
        lines = page.get_by_role("region", name="Lines of greet.py:1")
        lines.get_by_text("GREETING").wait_for()
        house.go(page, "/questions")
        page.get_by_role("link", name="What does the greeting say?").wait_for()


def test_a_question_shows_how_far_it_is_and_can_be_stopped(house: House) -> None:
    with house.page() as page:
        house.go(page)
        page.get_by_label("Ask about this codebase").fill("Does it wait forever?")
        page.keyboard.press("Enter")
        page.get_by_text("question in work").wait_for()
        page.get_by_role("button", name="Stop").click()
        page.get_by_text("Stopped.").wait_for()
        page.get_by_text("question in work").wait_for(state="detached")
        assert house.server.request("GET", "/v1/overview").json["asking"] == 0


def test_what_happens_shows_by_itself(house: House) -> None:
    with house.page() as page:
        house.go(page, "/timeline")
        settled(page)
        (house.project / "fresh.py").write_text("FRESH = 1\n")
        read = tool(house.project, "Read", file_path=str(house.project / "fresh.py"))
        notify(house.server, house.project, read)
        page.get_by_text("fresh.py:1").wait_for()


def test_a_finding_is_explained_pinned_and_forgotten(house: House) -> None:
    with house.page() as page:
        house.go(page, "/findings")
        item = page.get_by_role("listitem").filter(has_text="compares")
        item.get_by_role("button", name="Why").click()
        item.get_by_text("Still stands").wait_for()
        item.get_by_role("region", name="Lines of limits.py:3-7").get_by_text(
            "return tries < MAX_RETRIES"
        ).wait_for()
        item.get_by_role("button", name="Pin").click()
        item.get_by_role("button", name="Pinned").wait_for()
        page.get_by_label("Pinned").check()
        page.get_by_text("1 finding", exact=True).first.wait_for()
        page.get_by_label("All", exact=True).check()
        gone = page.get_by_role("listitem").filter(has_text="asks")
        gone.get_by_role("button", name="Forget").click()
        page.get_by_role("dialog", name="Forget this finding?").wait_for()
        assert accessible(page) == []
        page.keyboard.press("Escape")
        assert gone.count() == 1
        gone.get_by_role("button", name="Forget").click()
        page.get_by_role("button", name="Forget it").click()
        gone.wait_for(state="detached")
    facts = house.server.request("GET", f"/v1/facts?cwd={house.project}").json["facts"]
    assert isinstance(facts, list)
    assert [fact["pinned"] for fact in facts if "compares" in fact["text"]] == [True]
    assert [fact for fact in facts if "asks" in fact["text"]] == []


def test_many_findings_are_turned_page_by_page_and_found_by_a_word(
    house: House, tmp_path: Path
) -> None:
    files = {f"part{n:02}__py": f"LIMIT_{n} = {n}\n" for n in range(60)}
    project = make_project(tmp_path / "many", **files)
    for part in (range(30), range(30, 60)):
        said = "\n".join(f"- `LIMIT_{n}` is `{n}` (part{n:02}.py:1)." for n in part)
        stop = {"hook_event_name": "Stop", "session_id": f"s{part[0]}", "cwd": str(project)}
        notify(house.server, project, {**stop, "last_assistant_message": said})
    wait_for(house.server, project, "facts", 60)
    with house.page(width=390) as page:
        page.goto(f"{house.server.base_url}/ui#/w/{key_of(house.server, project)}/findings")
        page.get_by_text("1–50 of 60").wait_for()
        assert page.get_by_role("button", name="Newer").is_disabled()
        page.get_by_role("button", name="Older").click()
        page.get_by_text("51–60 of 60").wait_for()
        assert page.get_by_role("button", name="Older").is_disabled()
        page.get_by_label("Find").fill("part07")
        page.get_by_text("1 finding", exact=True).first.wait_for()
        assert page.get_by_role("button", name="Why").count() == 1
        page.get_by_label("Find").fill("nowhere")
        page.get_by_text("No finding is like that").wait_for()


def test_a_finding_whose_lines_changed_is_marked_and_shows_what_is_there_now(
    house: House, tmp_path: Path
) -> None:
    project = make_project(tmp_path / "moved", limits__py=LIMITS)
    stop = {"hook_event_name": "Stop", "session_id": "s2", "cwd": str(project)}
    said = "- `MAX_RETRIES` is `7` (limits.py:3)."
    notify(house.server, project, {**stop, "last_assistant_message": said})
    wait_for(house.server, project, "facts", 1)
    (project / "limits.py").write_text(LIMITS.replace("7", "9"))
    with house.page() as page:
        page.goto(f"{house.server.base_url}/ui#/w/{key_of(house.server, project)}/findings")
        page.get_by_text("File changed since").nth(1).wait_for()
        page.get_by_role("button", name="Why").click()
        page.get_by_text("No longer stands").wait_for()
        page.get_by_text("MAX_RETRIES = 9").wait_for()


def test_all_can_be_done_by_keyboard_alone(house: House) -> None:
    with house.page() as page:
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        tab_to(page, lambda text: text == house.project.name)
        page.keyboard.press("Enter")
        page.get_by_role("heading", level=1, name=house.project.name).wait_for()
        settled(page)
        assert page.evaluate("document.activeElement.id") == "main"
        tab_to(page, lambda text: text == "Findings")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Forget").first.wait_for()
        tab_to(page, lambda text: text == "Why")
        page.keyboard.press("Space")
        page.get_by_text("Still stands").wait_for()
        tab_to(page, lambda text: text == "Forget")
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        dialog.wait_for()
        page.keyboard.press("Escape")
        dialog.wait_for(state="hidden")
        assert page.evaluate("document.activeElement.textContent") == "Forget"


def test_a_hostile_repository_shows_as_text(house: House, tmp_path: Path) -> None:
    evil = '<img src=x onerror="alert(1)">'
    project = make_project(tmp_path / "<b>bold<img src=x>")
    code = (
        f"VALUE = 7  # </pre><script>alert(2)</script>{evil}\x1b[31m\u202e\n" + "x" * 50_000 + "\n"
    )
    (project / "<i>a.py").write_text(code)
    (project / "plain.py").write_text("LIMIT = 3\n" + code)
    reads = [tool(project, "Read", file_path=str(project / n)) for n in ("<i>a.py", "plain.py")]
    stop = {"hook_event_name": "Stop", "session_id": evil, "cwd": str(project)}
    asked = {"hook_event_name": "UserPromptSubmit", "session_id": evil, "cwd": str(project)}
    said = "- `LIMIT` is `3` <script>alert(3)</script> [x](javascript:alert(4)) (plain.py:1)."
    notify(
        house.server,
        project,
        *reads,
        {**asked, "prompt": f"Is it {evil}?"},
        {**stop, "last_assistant_message": said},
    )
    wait_for(house.server, quote(str(project)), "hook_events", 4)
    house.server.ask(f"Where is VALUE {evil} and LIMIT \x1b]8;;x\x07?", project)
    key = key_of(house.server, project)
    with house.page() as page:
        for view in VIEWS:
            page.goto(f"{house.server.base_url}/ui#/w/{key}{view}")
            page.get_by_role("heading", level=1, name="<b>bold<img src=x>").wait_for()
            settled(page)
            assert (
                page.locator("main :is(img, script, iframe, b, i, a[href^=javascript])").count()
                == 0
            )
        page.goto(f"{house.server.base_url}/ui#/w/{key}/questions")
        page.get_by_role("link", name=f"Where is VALUE {evil}").click()
        page.get_by_role("region", name=re.compile("^Lines of")).first.wait_for()
        shown = page.locator("main").inner_text()
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert page.locator("main :is(img, script, iframe, b, i)").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_three_thousand_codebases_are_found_by_their_name(
    browser: "Browser", tmp_path: Path
) -> None:
    """They rest: none of them is opened to be listed, and few are drawn."""
    for n in range(3_000):
        root = f"/home/me/work/service-{n:04}"
        folder = tmp_path / "data" / "workspaces" / WorkspaceKey.of_root(root).text
        folder.mkdir(parents=True)
        (folder / "journal.jsonl").write_bytes(line_of(JournalHeader(1, root)))
    (tmp_path / "data").chmod(0o700)
    with running_server(tmp_path, LIVE_MEMORY_PROVIDER="none") as server:
        house = House(server, tmp_path, "", browser)
        with house.page(refused="400 (Bad Request)") as page:
            page.get_by_text("The latest 50 of 3,000 codebases").wait_for()
            rows = page.locator("main .list > li")
            assert rows.count() == 50
            page.get_by_role("button", name="Show 50 more").click()
            page.get_by_text("The latest 100 of 3,000 codebases").wait_for()
            page.get_by_label("Find a codebase").fill("SERVICE-2718")
            page.get_by_text("1 codebase", exact=True).first.wait_for()
            assert rows.count() == 1
            page.get_by_role("link", name="service-2718").click()
            page.get_by_role("heading", name="This could not be loaded").first.wait_for()
            page.get_by_label("Main").get_by_role("link", name="Codebases").click()
            page.get_by_label("Find a codebase").fill("nowhere")
            page.get_by_text("No codebase has such a name").wait_for()
        assert server.request("GET", "/health").json["status"] == "ok"


def test_a_server_that_goes_away_is_told_and_one_that_comes_back_wants_a_new_link(
    browser: "Browser", tmp_path: Path
) -> None:
    with running_server(tmp_path, LIVE_MEMORY_PROVIDER="none") as server:
        house = House(server, tmp_path, "", browser)
        with house.page(refused="Failed to load resource") as page:
            page.get_by_text("No codebase yet").wait_for()
            server.stop()
            page.get_by_text("The server does not answer").first.wait_for()
            page.get_by_label("Main").get_by_role("link", name="Health").click()
            page.get_by_role("button", name="Try again").wait_for()
            assert accessible(page) == []
            with running_server(tmp_path, LIVE_MEMORY_PORT=str(server.port)):
                page.get_by_text("The server was started anew").wait_for()


def test_a_link_that_was_used_and_a_key_that_ended_say_what_to_do(house: House) -> None:
    context = house.browser.new_context()
    page = context.new_page()
    link = house.link()
    page.goto(link)
    page.get_by_role("heading", name="What is remembered").wait_for()
    assert "open=" not in page.url
    page.reload()
    page.get_by_role("heading", name="What is remembered").wait_for()
    page.evaluate("sessionStorage.setItem('live-memory-key', 'of-an-earlier-start')")
    page.reload()
    page.get_by_text("The server was started anew").wait_for()
    page.get_by_text("live-memory ui").wait_for()
    other = house.browser.new_context().new_page()
    other.goto(link)
    other.get_by_text("This link was used before").wait_for()
    other.context.close()
    context.close()


def test_the_command_prints_a_link_that_opens_the_page_where_it_is_called(house: House) -> None:
    command = [sys.executable, "-m", "live_memory", "ui", "--print"]
    environment = {**house.server.environment, "PATH": os.environ["PATH"]}
    done = subprocess.run(
        command, env=environment, cwd=house.project, capture_output=True, text=True, check=True
    )
    page = house.browser.new_page()
    page.goto(done.stdout.splitlines()[0])
    page.get_by_role("heading", level=1, name=house.project.name).wait_for()
    assert house.server.token not in done.stdout
    page.close()
