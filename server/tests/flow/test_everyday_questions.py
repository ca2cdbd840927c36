"""Questions as people ask them of small repositories: what leads, what is shown, what is owned."""

import re

import pytest

from live_memory.core.answer import Answer, Grounding
from tests.flow.test_answer_from_evidence import answered


def _shown(answer: Answer) -> list[str]:
    """The paths above the excerpts, in order."""
    parts = answer.text.split("\n\n")
    return [part.split(":")[0] for part in parts if re.search(r"^\d+\|", part, re.MULTILINE)]


CHARGE = {
    "pay/charge.py": 'API = "https://pay.example/v1/charges"\n\n\ndef charge(card, cents):\n'
    '    """Charge a card."""\n    return post(API, {"card": card, "cents": cents})\n',
    "pay/refund.py": "def refund(payment):\n    return post(REFUNDS, payment)\n",
}


@pytest.mark.parametrize("word", ["URL", "url"])
async def test_a_word_in_capitals_is_a_word(word: str) -> None:
    """Kind D of cases-2."""
    answer = await answered(f"Which {word} does charge post to?", CHARGE)
    assert answer.text.startswith("Best fit: pay/")
    assert '\n1|API = "https://pay.example/v1/charges"\n' in answer.text


@pytest.mark.parametrize("n", [1, 3, 13, 30])
async def test_an_exact_name_leads_before_names_that_have_its_parts(n: int) -> None:
    """Kind D of cases-2."""
    steps = "".join(
        f"def step_{k}(order):\n    return step_{k + 1}(order)\n\n\n" for k in range(1, 31)
    )
    answer = await answered(f"Where is step_{n} defined?", {"flow/steps.py": steps})
    first = answer.text.splitlines()[0]
    assert first == f"Best fit: flow/steps.py:{4 * n - 3}-{4 * n - 2} `step_{n}`."
    assert answer.grounding is Grounding.VERIFIED


def _users(of: str) -> dict[str, str]:
    page = f"def {of}_page():\n    service = UserService()\n    return service.findAll()\n"
    found = f"    def findAll(self):\n        return {of}.all()\n"
    return {
        f"{of}/service.py": f"class UserService:\n{found}",
        f"{of}/page.py": f"from {of}.service import UserService\n\n\n{page}",
    }


USERS = _users("admin") | _users("shop")


async def test_all_that_have_a_name_are_shown() -> None:
    answer = await answered("Where is findAll defined?", USERS)
    for path in ("admin/service.py", "shop/service.py"):
        assert f"\n\n{path}:" in answer.text


TOTAL = {
    "src/cart.py": "def total(cart):\n    return sum(cart)\n",
    "src/pay.py": "def pay(cart):\n    check(cart)\n    return total(cart)\n",
}


async def test_callers_are_shown_whole() -> None:
    answer = await answered("What calls total?", TOTAL)
    assert answer.text.startswith("`total` is used on 1 line of code.")
    assert "\n1|def pay(cart):\n2|    check(cart)\n3|    return total(cart)\n" in answer.text


async def test_who_calls_a_wrapper_is_shown_too() -> None:
    """Up to three calls away; a long caller is no wrapper."""
    world = {
        "store.py": "def write_row(row):\n    return table.append(row)\n",
        "save.py": "def save(row):\n    return write_row(row)\n",
        "order.py": "def take_order(order):\n    check(order)\n    return save(order)\n",
        "web.py": "def handle(request):\n    return take_order(request.order)\n",
        "long.py": "def report(row):\n" + "    count(row)\n" * 20 + "    return save(row)\n",
        "far.py": "def print_all(rows):\n    return report(rows)\n",
    }
    answer = await answered("What calls write_row?", world)
    shown = _shown(answer)
    assert shown[:2] == ["save.py", "store.py"]
    assert {"order.py", "web.py"} <= set(shown)
    assert "far.py" not in shown


PROJECT = {
    "README.md": "# Teapot\n\nTeapot brews tea over HTTP, with timers and a web page.\n\n"
    "## Install\n\n    pip install teapot\n\n## Usage\n\nRun `teapot brew`.\n",
    "CONTRIBUTING.md": "# Contributing\n\n## Running the tests\n\n"
    "Install the dev tools with `pip install -e .[dev]`, then run `pytest -n 2`.\n",
    ".github/workflows/ci.yml": "name: CI\non: [push]\njobs:\n  tests:\n    strategy:\n"
    "      matrix:\n        python-version: ['3.11', '3.12']\n    steps:\n      - run: pytest\n",
    "teapot/brew.py": "def brew(tea, minutes):\n    return Timer(minutes).wait(tea)\n",
    "teapot/project.py": "class Project:\n    def run_tests(self):\n        return None\n",
    "teapot/session.py": 'class SessionStore:\n    """Keeps sessions in memory."""\n\n'
    "    def get(self, key):\n        return self.kept[key]\n",
    "teapot/config.py": "BACKEND = 'memory'\nPORT = 8080\n",
    "tests/test_brew.py": "def test_brewing():\n    assert brew('mint', 1)\n",
}


@pytest.mark.parametrize(
    ("question", "path", "line"),
    [
        ("How do I run the tests?", "CONTRIBUTING.md", "then run `pytest -n 2`."),
        ("Which Python versions do we test in CI?", ".github/workflows/ci.yml", "'3.11', '3.12'"),
        ("how do i install it", "README.md", "pip install teapot"),
    ],
)
async def test_how_people_work_on_a_project_is_answered_by_its_guides(
    question: str, path: str, line: str
) -> None:
    answer = await answered(question, PROJECT)
    assert answer.text.startswith(f"Best fit: {path}:")
    assert line in answer.text
    assert answer.grounding is Grounding.VERIFIED


@pytest.mark.promise("grounded-or-says-so")
@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Where is the Redis session backend configured?", "Redis"),
        ("Is there a rate limiter?", "rate"),
        ("is there a rate limiter", "rate"),
        ("Does it support OAuth login?", "OAuth"),
        ("Where do we send emails?", "emails"),
        ("How are database migrations run?", "database"),
    ],
)
async def test_what_is_not_there_is_owned(question: str, name: str) -> None:
    answer = await answered(question, PROJECT)
    first = answer.text.splitlines()[0]
    assert first.startswith("Not found in this workspace: ")
    assert f"`{name}`" in first
    assert answer.grounding is Grounding.UNGROUNDED
    assert len(answer.citations) <= 3


UPLOADS = PROJECT | {
    "teapot/uploads.py": "def upload(part):\n    return send(part)\n",
    "teapot/pending.py": "def pending(jobs):\n    return [job for job in jobs if job.waits]\n",
    "teapot/limits.py": "LIMIT = 3\n\n\ndef within_limit(jobs):\n    return len(jobs) < LIMIT\n",
    "tests/hosts.py": "def host_of(url):\n    return url.split('/')[2]\n",
    "tests/clock.py": "MINUTE = 60\n",
}


@pytest.mark.promise("grounded-or-says-so")
@pytest.mark.parametrize(
    "question",
    [
        "Where is the limit of pending uploads of a host a minute?",
        "where do I set how many pending uploads each host may have a minute",
        "is there a limit for pending uploads of a host in a minute",
        "We run it at night. Can a host limit pending uploads a minute?",
    ],
)
async def test_words_that_stand_apart_are_no_thing_and_the_nearest_places_are_shown(
    question: str,
) -> None:
    answer = await answered(question, UPLOADS)
    first, second = answer.text.splitlines()[:2]
    assert first == "Probably not here: no place that was found holds all that is asked for."
    assert second.startswith("The nearest: teapot/")
    assert "It holds nothing of `" in second
    assert answer.grounding is Grounding.UNGROUNDED
    assert 1 <= len(answer.citations) <= 3
    assert len(_shown(answer)) <= 3
    assert "They hold all" not in answer.text


@pytest.mark.parametrize(
    "question",
    [
        "Where is the limit of jobs checked?",
        "is there a limit of jobs",
        "Which option says how many jobs there may be at once, is there a limit?",
        "Does it support sessions kept in memory?",
        "can I brew twice",
    ],
)
async def test_what_is_there_is_not_doubted_whatever_way_it_is_asked(question: str) -> None:
    answer = await answered(question, UPLOADS)
    assert answer.grounding is not Grounding.UNGROUNDED, answer.text
    assert not re.match("Not found|Probably", answer.text)


STORY = (
    "Our cook sends a clean pot, a kettle and six cups on a tray each morning, with a letter "
    "and a lamp, and the waiter drops half of them on the stairs."
)


@pytest.mark.parametrize(
    "asked", ["Is there a limit of jobs?", "Where is the session of a key kept in memory?"]
)
async def test_a_story_around_a_question_hides_nothing(asked: str) -> None:
    words = re.findall(r"[a-z]{4,}", STORY)
    kitchen = {f"kitchen/{word}.py": f"def {word}():\n    return '{word} tray'\n" for word in words}
    answer = await answered(f"{STORY} {asked}", UPLOADS | kitchen)
    alone = await answered(asked, UPLOADS | kitchen)
    assert answer.text.splitlines()[0] == alone.text.splitlines()[0]
    assert Grounding.UNGROUNDED not in (answer.grounding, alone.grounding)


async def test_capitals_change_nothing() -> None:
    answer = await answered("Which URL does charge post to?", CHARGE)
    small = await answered("Which url does charge post to?", CHARGE)
    assert answer.text.lower() == small.text.lower()
    assert answer.grounding is small.grounding


async def test_which_of_two_classes_is_meant_is_told_by_imports_or_left_open() -> None:
    """N26."""
    answer = await answered("Who calls findAll of the admin UserService?", USERS)
    assert "shop/page.py" not in _shown(answer) or "may be" in answer.text


async def test_callers_in_what_is_built_or_vendored_come_last() -> None:
    copies = {f"{folder}/pay.py": TOTAL["src/pay.py"] for folder in ("dist", "vendor/shop")}
    answer = await answered("What calls total?", TOTAL | copies)
    assert _shown(answer)[0] == "src/pay.py"


@pytest.mark.parametrize("question", ["What is this project about?", "what does this repo do?"])
async def test_what_a_project_is_stands_in_its_readme(question: str) -> None:
    answer = await answered(question, PROJECT)
    assert answer.text.startswith("What it says of itself: README.md.")
    assert answer.grounding is not Grounding.UNGROUNDED


async def test_a_thing_whose_name_stands_nowhere_is_said_not_to_be_there() -> None:
    """The words around the name are all there, so the places alone would look like an answer."""
    exporter = "def export_results(results, path):\n    write_results(path, as_json(results))\n"
    world = {"src/export.py": exporter, "README.md": "# Bench\n\nExports results to JSON.\n"}
    answer = await answered("Is there an option to export results to XML?", world)
    assert answer.grounding is Grounding.UNGROUNDED
    assert "`XML`" in answer.text.splitlines()[0]


STEPS = {
    "gate.py": "def admit(ticket):\n    if check_seal(ticket) or is_expired(ticket):\n"
    "        return None\n    return ticket\n",
    "seal.py": "def check_seal(ticket):\n    return ticket.wax != RED\n",
    "age.py": "def is_expired(ticket):\n    return ticket.days > 30\n",
    "other.py": "def sell(ticket):\n    return ticket.price\n",
}


async def test_short_functions_that_the_first_place_calls_follow_it() -> None:
    answer = await answered("How does the gate admit a ticket?", STEPS)
    assert _shown(answer)[:3] == ["gate.py", "seal.py", "age.py"]
    long = {**STEPS, "seal.py": STEPS["seal.py"] + "".join(f"    x{n} = 1\n" for n in range(30))}
    answer = await answered("How does the gate admit a ticket?", long)
    assert _shown(answer)[:2] == ["gate.py", "age.py"]


async def test_the_declaration_of_a_flag_leads_where_its_default_is_asked_for() -> None:
    world = {
        "run.py": 'def run(jobs):\n    if jobs > 1:\n        jobs = default_jobs(jobs, "jobs")\n',
        "options.py": 'def options():\n    return ("jobs", {"default": 1, "help": "How many"})\n',
    }
    answer = await answered("What is the default of --jobs?", world)
    assert answer.text.startswith("Best fit: options.py:1-2")


async def test_one_thing_that_no_place_holds_is_not_led_by_a_part_of_it_as_if_it_were_whole() -> (
    None
):
    world = {
        "queue.py": "def queue_backend():\n    return connect('redis')\n",
        "session.py": "def session_backend():\n    return cookies()\n",
    }
    answer = await answered("Where is the Redis session backend?", world)
    assert answer.text.startswith("Closest: ")
    assert answer.grounding is Grounding.PARTIAL


async def test_a_test_that_a_question_names_is_shown_like_a_program() -> None:
    world = {
        "tests/test_jar.py": "def test_jar_keeps():\n    assert keep(jar) is jar\n",
        "jar.py": "def keep(jar):\n    return jar\n",
        "lid.py": "def lid(jar):\n    return keep(jar)\n",
    }
    answer = await answered("What does test_jar_keeps keep in a jar?", world)
    assert answer.text.startswith("Best fit: tests/test_jar.py:1-2 `test_jar_keeps`")


@pytest.mark.parametrize(
    "name", ["one.py", "src/is.go", "where.ts", "a.go", "Use.java", "how.swift"]
)
async def test_a_file_is_found_whose_name_is_a_word_of_asking(name: str) -> None:
    """B12 of security-2; a file that uses the word, or has the ending alone, does not lead."""
    ending = name.rpartition(".")[2]
    word = name.rpartition("/")[2].partition(".")[0].lower()
    world = {
        name: "ALPHA = 3\n",
        f"other.{ending}": "BETA = 4\n",
        "util.py": f"def {word}_():\n    return {word}\n",
        "two.py": "def set_limit(limit):\n    return limit\n",
    }
    for asked in (f"What does {name} set?", f"Explain {name.rpartition('/')[2]}."):
        assert (await answered(asked, world)).text.startswith(f"Best fit: {name}:1"), asked
