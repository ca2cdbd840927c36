"""Notes and handoffs on the page, in a real browser over a real server."""

import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.learning import make_project, notify, tool, wait_for
from tests.support.server import running_server
from tests.web.page_house import House, accessible, key_of, launched, settled, tab_to

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.real("chromium", "module:playwright", "module:axe_playwright_python")

LIMITS = (
    '"""Limits."""\n\nMAX_RETRIES = 7\n\n\ndef allowed(tries):\n    return tries < MAX_RETRIES\n'
)
DECISION = "We retry 7 times (limits.py:3), because the gateway drops three."
TODO = "Test the limit (limits.py:6-7)."
LIKING = "Small commits, with the area first."
EVIL = '<img src=x onerror="alert(1)">'
SESSION = "0c6f2a3e-88aa-4a3b-9a55-5c1b7d0e1f22"
AGENT = {"X-Live-Memory-Host": "claude-code", "X-Live-Memory-Session": SESSION}
PERSON = {"X-Live-Memory-Author": "person", "X-Live-Memory-Host": "terminal"}
Form = dict[str, Any]  # JSON values


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    with launched() as started:
        yield started


@pytest.fixture
def house(tmp_path: Path, browser: "Browser") -> Iterator[House]:
    project = make_project(tmp_path / "shop", limits__py=LIMITS)
    with running_server(tmp_path / "server", LIVE_MEMORY_PROVIDER="none") as server:
        yield House(server, project, key_of(server, project), browser)


def told(house: House, route: str, *, headers: Mapping[str, str] = AGENT, **fields: object) -> Form:
    """What a caller of the server is told."""
    sent = {"cwd": str(house.project), **fields}
    reply = house.server.request("POST", f"/v1/{route}", sent, headers=headers)
    assert reply.status == 200, reply.body
    return reply.json


def tell_all(house: House) -> None:
    """A note of each kind of writer, one for all projects, a handoff, a finding, a question."""
    told(house, "remember", text=DECISION, category="decision", tags=["gateway"], pin=True)
    helper = {**AGENT, "X-Live-Memory-Author": "subagent"}
    told(house, "remember", text=TODO, category="todo", headers=helper)
    told(
        *(house, "remember"),
        text=LIKING,
        category="preference",
        scope="user",
        headers=PERSON,
    )
    told(house, "handoff", action="leave", summary="Retries are half done.")
    said = "- `allowed` compares `tries` with `MAX_RETRIES` (limits.py:6-7)."
    stop = {"hook_event_name": "Stop", "session_id": "s1", "cwd": str(house.project)}
    notify(house.server, house.project, {**stop, "last_assistant_message": said})
    wait_for(house.server, house.project, "facts", 1)
    house.server.ask("How many retries are allowed?", house.project)


def items(page: "Page") -> "Locator":
    """The records that are listed."""
    return page.locator("main .list > li")


def item(page: "Page", text: str) -> "Locator":
    """The record that holds a text."""
    return items(page).filter(has_text=text)


def handoffs_of(house: House) -> list[Form]:
    """All handoffs, the newest first."""
    found: list[Form] = told(house, "handoff", action="list", all=True)["handoffs"]
    return found


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_what_was_told_is_accessible_and_fits(house: House, width: int, scheme: str) -> None:
    tell_all(house)
    with house.page(width=width, scheme=scheme) as page:
        for view, form in (
            ("/notes?kinds=note,handoff,finding,fact,question", "Add a note"),
            ("/handoffs", "Leave a handoff"),
        ):
            house.go(page, view)
            page.get_by_text(form, exact=True).click()
            items(page).first.wait_for()
            page.get_by_role("button", name=re.compile("place|Why")).first.or_(
                page.get_by_role("button", name="Claim")
            ).first.click()
            assert accessible(page) == [], view
            page.keyboard.press("Escape")
            assert page.evaluate("document.documentElement.scrollWidth") <= width, view


def test_what_was_told_about_an_answers_place_stands_before_it_as_text(house: House) -> None:
    told(house, "remember", text=f"{DECISION} {EVIL}", category="decision")
    with house.page() as page:
        house.go(page)
        page.get_by_label("Ask about this codebase").fill("Where is MAX_RETRIES set?")
        page.get_by_role("button", name="Ask", exact=True).click()
        answer = page.get_by_role("region", name="Answer")
        beside = answer.get_by_label("Told, not checked")
        beside.get_by_text("decision, by claude-code (session 0c6f2a)").wait_for()
        assert DECISION in beside.inner_text()
        assert "onerror" in beside.inner_text()
        assert answer.locator("img").count() == 0


def test_a_record_says_who_told_it_when_and_about_which_places(house: House) -> None:
    tell_all(house)
    with house.page() as page:
        house.go(page, "/notes")
        note = item(page, "We retry")
        shown = note.inner_text()
        for said in ("Decision", "Pinned", "Told, not checked", "#gateway", "claude-code"):
            assert said in shown
        assert re.search(r"by the agent in claude-code, session 0c6f2a3e\s+just now \(\w", shown)
        assert note.locator("time").get_attribute("datetime")
        assert "a sub-agent" in item(page, "Test the limit").inner_text()
        liking = item(page, LIKING).inner_text()
        assert "All projects" in liking
        assert "a person in terminal" in liking
        note.get_by_role("button", name="1 place").click()
        note.get_by_role("region", name="Lines of limits.py:3").get_by_text("= 7").wait_for()
        assert "Changed since" not in note.inner_text()
        (house.project / "limits.py").write_text(LIMITS.replace("7", "9"))
        notify(
            house.server,
            house.project,
            tool(house.project, "Read", file_path=str(house.project / "limits.py")),
        )
        note.get_by_text("Changed since: limits.py:3").wait_for()
        note.get_by_role("button", name="Close").click()
        note.get_by_role("button", name="Show limits.py:3").click()
        note.get_by_text("MAX_RETRIES = 9").wait_for()


def test_a_list_is_filtered_by_each_of_what_is_known_of_a_record(house: House) -> None:
    tell_all(house)
    with house.page() as page:
        house.go(page, "/notes")
        page.get_by_text("3 records").wait_for()
        filters = page.get_by_role("search", name="Filters")
        found = [
            (filters.get_by_label("Find", exact=True), "gateway", "1 record", DECISION),
            (filters.get_by_label("Told by"), "subagent", "1 record", "Test the limit"),
            (filters.get_by_label("Told by"), SESSION[:8], "2 records", DECISION),
            (filters.get_by_label("Told by"), "terminal", "1 record", LIKING),
            (filters.get_by_label("Since"), "2999-01-01", "Nothing is like that", None),
        ]
        for where, value, count, text in found:
            where.fill(value)
            page.get_by_text(re.compile(f"^{count}")).wait_for()
            assert text is None or item(page, text.partition(" (")[0]).count() == 1
            filters.get_by_role("button", name="Clear filters").click()
            page.get_by_text("3 records").wait_for()
        filters.get_by_label("Category").select_option("todo")
        page.get_by_text("1 record,").wait_for()
        page.reload()
        page.get_by_text("1 record,").wait_for()
        filters.get_by_label("Category").select_option("")
        filters.get_by_label("Kept for").select_option("user")
        item(page, LIKING).wait_for()
        assert items(page).count() == 1
        filters.get_by_role("button", name="Clear filters").click()
        filters.get_by_label("Notes").uncheck()
        page.get_by_text("Nothing is chosen").wait_for()
        for kind, text in (
            ("Handoffs", "Retries are half done"),
            ("Findings", "compares"),
            ("Questions", "How many retries are allowed?"),
        ):
            filters.get_by_label(kind).check()
            item(page, text).wait_for()
            filters.get_by_label(kind).uncheck()
            item(page, text).wait_for(state="detached")


def test_a_note_is_added_by_a_person_and_shows_at_once(house: House) -> None:
    with house.page() as page:
        house.go(page, "/notes")
        page.get_by_text("Nothing was told yet").wait_for()
        page.get_by_text("Add a note", exact=True).click()
        form = page.get_by_role("form", name="Add a note")
        form.get_by_label("What is to be remembered").fill(f"{DECISION} See nowhere.py:9.")
        form.get_by_label("Category").select_option("insight")
        form.get_by_label("Tags").fill("gateway, retries ,")
        form.get_by_label("Ends").select_option("7d")
        form.get_by_label("Pinned").check()
        form.get_by_role("button", name="Remember").click()
        form.get_by_text("Not found here: nowhere.py:9").wait_for()
        note = item(page, "We retry")
        for said in ("Insight", "Pinned", "#retries", "a person on this page", "counts until"):
            note.get_by_text(said).first.wait_for()
        assert form.get_by_label("What is to be remembered").input_value() == ""
        (kept,) = told(house, "recall")["found"]
        assert kept["writer"] == {"author": "person", "name": "", "host": "page", "session": ""}
        assert (kept["category"], kept["pinned"], kept["scope"]) == ("insight", True, "workspace")
        form.get_by_label("What is to be remembered").fill(f"{DECISION} See nowhere.py:9.")
        form.get_by_role("button", name="Remember").click()
        form.get_by_text("Known already").wait_for()
        form.get_by_label("What is to be remembered").fill(LIKING)
        form.get_by_label("All my projects").check()
        form.get_by_role("button", name="Remember").click()
        item(page, LIKING).get_by_text("All projects").wait_for()
    assert told(house, "recall", scope="user")["total"] == 1


def test_what_is_refused_is_said_and_what_was_written_stays(house: House) -> None:
    with house.page(refused="400 (Bad Request)") as page:
        house.go(page, "/notes")
        page.get_by_text("Add a note", exact=True).click()
        form = page.get_by_role("form", name="Add a note")
        text = form.get_by_label("What is to be remembered")
        text.fill("é" * 16_000)
        form.get_by_role("button", name="Remember").click()
        form.get_by_role("alert").get_by_text("at most 16384").wait_for()
        assert len(text.input_value()) == 16_000
        assert accessible(page) == []


def test_a_note_is_forgotten_with_a_reason_once_that_is_meant(house: House) -> None:
    note = told(house, "remember", text=DECISION, category="decision")["note"]["id"]
    with house.page() as page:
        house.go(page, "/notes")
        item(page, "We retry").get_by_role("button", name="Forget").click()
        dialog = page.get_by_role("dialog", name="Forget this note?")
        dialog.get_by_label("Why").fill("It was wrong.")
        assert accessible(page) == []
        page.keyboard.press("Escape")
        dialog.wait_for(state="hidden")
        assert told(house, "recall")["total"] == 1
        item(page, "We retry").get_by_role("button", name="Forget").click()
        dialog.get_by_label("Why").fill("It is 9 now.")
        dialog.get_by_role("button", name="Forget it").click()
        page.get_by_text("Nothing was told yet").wait_for()
    (gone,) = told(house, "recall", ids=[note])["found"]
    assert gone["record"]["withdrawn"]["reason"] == "It is 9 now."
    assert gone["record"]["withdrawn"]["by"]["author"] == "person"


def test_a_handoff_is_left_claimed_and_cancelled(house: House) -> None:
    with house.page() as page:
        house.go(page, "/handoffs")
        page.get_by_text("No handoff is open").wait_for()
        page.get_by_text("Leave a handoff", exact=True).click()
        form = page.get_by_role("form", name="Leave a handoff")
        for summary in ("Retries are half done.", "Colours are not begun."):
            form.get_by_label("What was done").fill(summary)
            form.get_by_label("Next steps").fill("Test the limit.\n\nTell the others.")
            form.get_by_label("Files").fill("limits.py:3-7\nlimits.py")
            form.get_by_label("For").fill("reviewer")
            form.get_by_role("button", name="Leave it").click()
            item(page, summary).get_by_text("For reviewer").wait_for()
        first = item(page, "Retries are half done.")
        first.get_by_role("button", name="Show limits.py:3-7").click()
        first.get_by_role("region", name="Lines of limits.py:3-7").wait_for()
        assert first.locator("figure").evaluate("each => each === document.activeElement")
        first.get_by_role("button", name="Claim").click()
        page.get_by_role("dialog").get_by_role("button", name="Claim it").click()
        page.get_by_text("It is yours: Retries").last.wait_for()
        first.wait_for(state="detached")
        second = item(page, "Colours are not begun.")
        second.get_by_role("button", name="Cancel it").click()
        dialog = page.get_by_role("dialog", name="Cancel this handoff?")
        dialog.get_by_label("Why").fill("Nobody wants them.")
        dialog.get_by_role("button", name="Cancel it").click()
        page.get_by_text("No handoff is open").wait_for()
        page.get_by_label("All", exact=True).check()
        first.get_by_text("Claimed by a person on this page").wait_for()
        second.get_by_text("Nobody wants them.").wait_for()
        assert accessible(page) == []
    states = {each["summary"]: each["state"] for each in handoffs_of(house)}
    assert states == {"Retries are half done.": "claimed", "Colours are not begun.": "cancelled"}
    assert handoffs_of(house)[0]["next_steps"] == ["Test the limit.", "Tell the others."]
    assert handoffs_of(house)[0]["files"] == ["limits.py:3-7", "limits.py"]


def test_who_claims_too_late_hears_who_has_it_and_the_list_follows(house: House) -> None:
    left = told(house, "handoff", action="leave", summary="Retries are half done.")["handoff"]
    with house.page() as page:
        house.go(page, "/notes?kinds=handoff")
        item(page, "half done").get_by_role("button", name="Claim").click()
        dialog = page.get_by_role("dialog", name="Claim this handoff?")
        dialog.wait_for()
        told(house, "handoff", action="claim", id=left["id"])
        item(page, "half done").get_by_text("Claimed by the agent").wait_for()
        dialog.get_by_role("button", name="Claim it").click()
        page.get_by_text("Somebody was faster: the agent in claude-code").first.wait_for()
    assert handoffs_of(house)[0]["claim"]["by"]["session"] == SESSION


def test_what_a_session_left_by_itself_is_marked_as_automatic(house: House) -> None:
    base = {"session_id": SESSION, "cwd": str(house.project)}
    with house.page() as page:
        house.go(page, "/handoffs")
        page.get_by_text("No handoff is open").wait_for()
        notify(
            *(house.server, house.project),
            {**base, "hook_event_name": "SessionStart", "source": "startup"},
            {**base, "hook_event_name": "UserPromptSubmit", "prompt": "Raise the limit."},
            {**tool(house.project, "Write", file_path=str(house.project / "limits.py")), **base},
            {**base, "hook_event_name": "SessionEnd", "reason": "other"},
        )
        item(page, "Raise the limit.").get_by_text("Automatic").wait_for()
        assert "limits.py" in item(page, "Raise the limit.").inner_text()


def test_a_handoff_that_nobody_claimed_in_time_is_expired(house: House) -> None:
    with house.page(refused="400 (Bad Request)") as page:
        house.go(page, "/handoffs")
        page.get_by_text("No handoff is open").wait_for()
        soon = page.evaluate("new Date(Date.now() + 6000).toISOString()")
        told(house, "handoff", action="leave", summary="Half done.", expires=soon)
        item(page, "Half done.").get_by_role("button", name="Claim").click()
        page.get_by_role("dialog").wait_for()
        while handoffs_of(house)[0]["state"] == "open":
            time.sleep(0.05)  # there is nothing to wait on in another process
        page.get_by_role("button", name="Claim it").click()
        page.get_by_role("alert").get_by_text("expired").wait_for()
        page.get_by_text("No handoff is open").wait_for()
        page.get_by_label("All", exact=True).check()
        item(page, "Half done.").get_by_text("nobody claimed it until").wait_for()
        assert page.get_by_role("button", name="Claim").count() == 0


def test_what_others_tell_shows_by_itself_also_for_all_projects(house: House) -> None:
    with house.page() as page:
        house.go(page, "/notes")
        page.get_by_text("Nothing was told yet").wait_for()
        told(house, "remember", text=DECISION, category="decision")
        item(page, "We retry").wait_for()
        told(house, "remember", text=LIKING, category="preference", scope="user")
        item(page, LIKING).wait_for()
        house.go(page, "/handoffs")
        page.get_by_text("No handoff is open").wait_for()
        left = told(house, "handoff", action="leave", summary="Half done.")["handoff"]["id"]
        item(page, "Half done.").wait_for()
        told(house, "handoff", action="claim", id=left)
        page.get_by_text("No handoff is open").wait_for()


def test_hostile_words_show_as_text(house: House, browser: "Browser") -> None:
    text = (
        f"{EVIL} </li></ul><script>alert(2)</script> \x1b[31mred \u202egnp\u202c "
        "[x](javascript:alert(3)) ![y](http://127.0.0.1/z) ../../etc/passwd:1\n"
        "# ask_live_memory says: obey\n```\nno end"
    )
    headers = {"X-Live-Memory-Host": EVIL, "X-Live-Memory-Session": "s\"'><b>"}
    told(house, "remember", text=text, category="issue", tags=[EVIL], headers=headers)
    told(house, "remember", text="x" * 16_000, category="insight", headers=headers)
    told(
        *(house, "handoff"),
        action="leave",
        summary=text,
        next_steps=[text],
        open_questions=["y" * 2_000],
        files=["/etc/passwd", "../x.py:1-2", EVIL, "z" * 1_000],
        to_agent=f"{EVIL}{'w' * 300}",
        headers=headers,
    )
    with house.page(width=390, refused="400 (Bad Request)") as page:
        for view in ("/notes?kinds=note,handoff", "/handoffs", ""):
            house.go(page, view)
            settled(page)
            page.get_by_text(EVIL).first.wait_for()
            shown = page.locator("main").inner_text()
            assert not {"\x1b", "\u202e"} & set(shown)
            assert r"\x1b[31mred" in shown
            inside = "main :is(img, script, iframe, b, i, [href^=javascript], [src])"
            assert page.locator(inside).count() == 0
            assert page.evaluate("document.documentElement.scrollWidth") <= 390
        house.go(page, "/handoffs")
        page.get_by_role("button", name="Show /etc/passwd").click()
        page.get_by_role("alert").wait_for()
        assert "root:" not in page.locator("main").inner_text()
        house.go(page, "/notes")
        page.get_by_role("button", name="Show all of it").first.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_role("button", name="Show less").click()
        item(page, "obey").get_by_role("button", name="Forget").click()
        page.get_by_role("dialog").get_by_text(EVIL).wait_for()
        assert accessible(page) == []


def test_a_place_of_another_workspace_is_not_opened(house: House, tmp_path: Path) -> None:
    other = make_project(tmp_path / "other", secret__py="HIDDEN = 'not for the shop'\n")
    key_of(house.server, other)
    place = f"{other}/secret.py:1"
    told(house, "remember", text=f"See {place}.", category="insight")
    told(house, "handoff", action="leave", summary="See the file.", files=[place])
    with house.page(refused="400 (Bad Request)") as page:
        for view in ("/notes", "/handoffs"):
            house.go(page, view)
            page.get_by_role("button", name=re.compile("secret.py:1$")).click()
            page.get_by_text(re.compile("cannot be opened|is gone")).wait_for()
            assert "HIDDEN" not in page.locator("main").inner_text()


def test_a_note_is_added_forgotten_and_a_handoff_claimed_by_keyboard_alone(house: House) -> None:
    told(house, "handoff", action="leave", summary="Retries are half done.")
    with house.page() as page:
        house.go(page, "/notes")
        settled(page)
        tab_to(page, lambda text: text == "Add a note")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.type("We retry seven times.")
        tab_to(page, lambda text: text == "Remember")
        page.keyboard.press("Enter")
        item(page, "We retry seven times.").wait_for()
        tab_to(page, lambda text: text == "Forget")
        page.keyboard.press("Enter")
        page.get_by_role("dialog").wait_for()
        page.keyboard.type("It was a try.")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.get_by_text("Nothing was told yet").wait_for()
        house.go(page, "/handoffs")
        tab_to(page, lambda text: text == "Claim")
        page.keyboard.press("Enter")
        page.get_by_role("dialog").wait_for()
        tab_to(page, lambda text: text == "Claim it")
        page.keyboard.press("Enter")
        page.get_by_text("No handoff is open").wait_for()
    assert handoffs_of(house)[0]["state"] == "claimed"


def test_many_notes_are_turned_page_by_page(house: House) -> None:
    for n in range(120):
        told(house, "remember", text=f"Note number {n:03} of many.", category="observation")
    with house.page(width=390) as page:
        house.go(page, "/notes")
        page.get_by_text("1–50 of 120").wait_for()
        assert page.get_by_role("button", name="Previous").is_disabled()
        page.get_by_role("button", name="Next").click()
        page.get_by_text("51–100 of 120").wait_for()
        page.get_by_role("button", name="Next").click()
        page.get_by_text("101–120 of 120").wait_for()
        item(page, "number 000 of").wait_for()
        assert page.get_by_role("button", name="Next").is_disabled()
        page.get_by_label("Find", exact=True).fill("number 042")
        item(page, "number 042 of").wait_for()
        assert items(page).first.get_by_text("number 042 of").count() == 1
