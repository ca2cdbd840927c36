"""The one way a program is started: what it knows, what it may use, and that it ends whole."""

import os
import sys
from pathlib import Path

import pytest
from anyio import create_task_group, fail_after, move_on_after, sleep

from live_memory.adapters.workspace.ripgrep import (
    Invocation,
    InvocationResult,
    Programs,
    Runner,
    find_programs,
)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def shell(script: str, **options: object) -> Invocation:
    return Invocation(("/bin/sh", "-c", script), cwd="/", **options)  # type: ignore[arg-type]


async def until_gone(pid: int) -> None:
    """Wait for a process to end; nobody reaps a grandchild but init, so a zombie counts as gone."""
    with fail_after(5):
        while True:
            try:
                state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                return
            if state == "Z":
                return
            await sleep(0.01)


async def test_a_program_gets_its_input_and_only_the_environment_it_is_given() -> None:
    runner = Runner()
    assert await runner.run(shell("cat", stdin=b"x" * 300_000)) == InvocationResult(
        0, b"x" * 300_000
    )
    ran = await runner.run(shell("env; cat", env={"ONLY": "this"}))
    names = {line.split("=")[0] for line in ran.out.decode().splitlines()}
    assert names <= {"ONLY", "PWD", "SHLVL", "_", "OLDPWD"}
    assert await runner.run(shell("exit 3")) == InvocationResult(3, b"")
    assert await runner.run(shell("exit 0", stdin=b"x" * 300_000)) == InvocationResult(0, b"")


async def test_a_program_that_is_not_there_is_an_outcome() -> None:
    ran = await Runner().run(Invocation(("/nowhere/rg",), cwd="/"))
    assert not ran.is_fine
    assert not (await Runner().run(Invocation(("/bin/true",), cwd="/nowhere"))).is_fine
    assert not (await Runner().run(Invocation(("/bin/echo", "a\0b"), cwd="/"))).is_fine


async def test_too_much_output_ends_the_program_early() -> None:
    with fail_after(5):
        ran = await Runner().run(shell("yes", max_output=100_000, timeout_s=60))
    assert (ran.code, len(ran.out), ran.is_cut) == (None, 100_000, True)


async def test_what_a_late_program_started_is_ended_with_it(tmp_path: Path) -> None:
    """S24: a program that sleeps and forks; also one that leaves its child behind and exits."""
    for script in ("sleep 60 & echo $! > pid; wait", "sleep 60 >/dev/null & echo $! > pid"):
        command = Invocation(("/bin/sh", "-c", script.replace("pid", f"{tmp_path}/pid")), cwd="/")
        limited = Invocation(command.argv, cwd="/", timeout_s=0.3)
        # A child may write no file, so the number comes by standard output instead.
        told = Invocation(("/bin/sh", "-c", script.replace("> pid", "")), cwd="/", timeout_s=0.3)
        with fail_after(5):
            assert (await Runner().run(limited)).out == b""
            ran = await Runner().run(told)
        await until_gone(int(ran.out))
    assert not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_bytes()


async def test_cancelling_ends_the_program_at_once() -> None:
    runner = Runner(at_once=1)
    with fail_after(3):
        with move_on_after(0.2) as patience:
            await runner.run(shell("sleep 60 & wait", timeout_s=60))
        assert patience.cancelled_caught
        # The place is free again.
        assert (await runner.run(shell("exit 0"))).is_fine


@pytest.mark.promise("read-only")
async def test_a_program_can_write_no_file_and_use_only_so_much(tmp_path: Path) -> None:
    target = tmp_path / "written"
    ran = await Runner().run(shell(f"echo text > {target}"))
    assert not ran.is_fine
    assert not target.exists() or target.read_bytes() == b""
    spin = Invocation((sys.executable, "-I", "-c", "while True: pass"), cwd="/", timeout_s=1)
    with fail_after(5):
        assert not (await Runner().run(spin)).is_fine
    grab = (sys.executable, "-I", "-c", "bytearray(16 << 30)")
    assert not (await Runner().run(Invocation(grab, cwd="/"))).is_fine


async def test_only_so_many_run_at_once() -> None:
    runner = Runner(at_once=2)
    running: list[InvocationResult] = []

    async def one() -> None:
        running.append(await runner.run(shell("exit 0")))

    with fail_after(10):
        async with create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(one)
    assert [ran.code for ran in running] == [0] * 20


def test_programs_are_looked_for_in_absolute_folders_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "git").write_text("#!/bin/sh\n")
    (tmp_path / "here" / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path / "here")
    assert find_programs(os.pathsep.join(["", ".", "../here", str(tmp_path / "there")])).git is None
    found = find_programs(os.pathsep.join([".", str(tmp_path / "here")]))
    assert found.git == str(tmp_path / "here" / "git")
    assert Programs(git=None, rg=None).python == sys.executable
