"""Which workspace a request is about, and which folders never are one (S15)."""

from pathlib import Path
from urllib.parse import quote

import pytest

from tests.support.server import Reply, RunningServer

USES = ["ask", "stats", "answers", "clear"]
each_use = pytest.mark.parametrize("use", USES)


def use_folder(server: RunningServer, use: str, cwd: object, **headers: str) -> Reply:
    """Send a folder the way each route takes it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if use in ("ask", "clear"):
        path = "/v1/ask" if use == "ask" else "/clear"
        fields = {"question": "Where is charge_card?", "cwd": cwd}
        return server.request("POST", path, fields, headers=named)
    target = {"stats": "/stats", "answers": "/v1/answers"}[use]
    query = "" if cwd is None else f"?cwd={quote(str(cwd), errors='surrogateescape')}"
    return server.request("GET", target + query, headers=named)


@each_use
@pytest.mark.promise("inside-the-workspace")
@pytest.mark.parametrize(
    "cwd",
    [
        "/",
        "//",
        "/..",
        "/etc",
        "/proc/self/cwd",
        "/proc/self/root",
        "HOME",
        "HOME/",
        "~root",
        "~",
        "",
        ".",
        "relative/folder",
        "${CLAUDE_PROJECT_DIR}",
        "/nowhere/at/all",
        "PROJECT/pay.py",
        "PROJECT/.git",
        "PROJECT/.git/objects",
        "PROJECT\0",
        "/" + "x" * 10_000,
        "PROJECT/\udcff",
        None,
    ],
    ids=lambda cwd: repr(cwd)[:30],
)
def test_what_is_no_project_is_refused(
    server: RunningServer, project: Path, use: str, cwd: str | None
) -> None:
    """S15: and a missing folder never means the server's own."""
    if cwd is not None:
        home = server.environment["HOME"]
        cwd = cwd.replace("PROJECT", str(project)).replace("HOME", home)
    reply = use_folder(server, use, cwd)
    assert reply.status == 400
    assert b'"class": "invalid"' in reply.body


@pytest.mark.parametrize("use", ["ask", "clear"])
@pytest.mark.parametrize("cwd", [7, 1.5, True, ["/tmp"], {"a": 1}], ids=str)
def test_what_is_no_text_is_refused(server: RunningServer, use: str, cwd: object) -> None:
    """S15."""
    assert use_folder(server, use, cwd).status == 400


@pytest.mark.parametrize("use", ["ask", "stats", "answers"])
def test_spellings_of_one_project_are_one_workspace(
    server: RunningServer, project: Path, tmp_path: Path, use: str
) -> None:
    """S15."""
    link = tmp_path / "link"
    link.symlink_to(project)
    spellings = [
        project,
        f"{project}/",
        f"{project}/sub",
        f"{project}/sub/..",
        f"{project}//",
        link,
    ]
    expected = use_folder(server, "stats", project).json["workspace"]
    for spelling in spellings:
        reply = use_folder(server, use, str(spelling))
        assert reply.status == 200
        if use == "ask":
            answer = reply.lines[-1]["answer"]
            assert isinstance(answer, dict)
            assert answer["workspace"] == expected
        elif use == "stats":
            assert reply.json["workspace"] == expected


@pytest.mark.parametrize("use", ["ask", "stats", "answers"])
def test_the_project_header_stands_in(server: RunningServer, project: Path, use: str) -> None:
    reply = use_folder(server, use, None, X_Live_Memory_Project=str(project))
    assert reply.status == 200
    refused = use_folder(server, use, None, X_Live_Memory_Project="${CLAUDE_PROJECT_DIR}")
    assert refused.status == 400


def test_a_project_with_a_name_of_any_script_is_found(
    server: RunningServer, tmp_path: Path
) -> None:
    named = tmp_path / "проект-工程"
    named.mkdir()
    as_sent = str(named).encode().decode("latin-1")
    reply = use_folder(server, "stats", None, X_Live_Memory_Project=as_sent)
    assert reply.status == 200
    assert reply.json["workspace"] == use_folder(server, "stats", named).json["workspace"]


def test_a_cleared_workspace_is_empty_and_others_are_not(
    server: RunningServer, project: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.py").write_text("def charge_card():\n    pass\n")
    for place in (project, other):
        assert "answer" in server.ask("Where is charge_card?", place)
    assert use_folder(server, "clear", str(other)).json["cleared"] == 1
    assert use_folder(server, "answers", other).json["answers"] == []
    assert use_folder(server, "answers", project).json["answers"] != []


def test_cwd_only_narrows_the_project_that_the_host_names(
    server: RunningServer, project: Path, tmp_path: Path
) -> None:
    """F5: `cwd` is an argument that a model chooses."""
    other = tmp_path / "other"
    other.mkdir()
    (project / "sub").mkdir(exist_ok=True)
    (project / "away").symlink_to(other)
    (tmp_path / "spelled").symlink_to(project)
    named = {"X_Live_Memory_Project": str(project)}
    for cwd in (project, project / "sub", tmp_path / "spelled", f"{project}/sub/.."):
        assert use_folder(server, "stats", cwd, **named).status == 200
    for cwd in (other, tmp_path, project / "away", f"{project}/../other", f"{project}x", "/"):
        reply = use_folder(server, "stats", cwd, **named)
        assert (reply.status, "outside the project" in str(reply.json)) == (400, True)
