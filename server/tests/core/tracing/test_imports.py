"""What a file brings in tells things of one name apart, in many languages."""

import pytest

from live_memory.core.evidence.outline import outline
from live_memory.core.evidence.places import Definition, DefinitionKind, Place, RankedFileText
from live_memory.core.evidence.uses import is_foreign, owner_of, renamed, told_apart
from live_memory.core.values import ContentHash, RelPath


def _opened(name: str, text: str) -> RankedFileText:
    lines, path = text.splitlines(), RelPath(name)
    return RankedFileText(path, ContentHash.of(text.encode()), lines, outline(path, lines))


def _two(ending: str) -> list[Definition]:
    return [
        Definition(
            "Users.all", DefinitionKind.METHOD, Place(RelPath(f"src/{home}/{ending}"), 2, 3), ""
        )
        for home in ("admin", "guest")
    ]


def _kept(
    name: str, text: str, ending: str, written: str = "users", caller: Place | None = None
) -> list[str]:
    file = _opened(name, text)
    place = caller or Place(file.path, 1, len(file.lines))
    within = Definition("f", DefinitionKind.FUNCTION, place, "")
    found = told_apart(_two(ending), file, within, written)
    return [d.place.path.text.split("/")[1] for d in found]


@pytest.mark.parametrize(
    ("name", "text", "ending", "kept"),
    [
        ("src/a.py", "from admin.users import Users\n", "users.py", ["admin"]),
        ("src/x/a.py", "from ..guest.users import (\n    Users,\n)\n", "users.py", ["guest"]),
        ("src/guest/a.py", "from .users import Users\n", "users.py", ["guest"]),
        ("a.py", "from src.guest import Users\n", "users.py", ["guest"]),
        ("a.py", "from src import Users\n", "users.py", ["admin", "guest"]),
        ("a.py", "from django.db import Users\n", "users.py", []),
        ("a.py", "import os\n", "users.py", ["admin", "guest"]),
        ("src/a.ts", "import { Users } from './admin/users.js';\n", "users.ts", ["admin"]),
        ("src/a.ts", "import { Users } from '@/guest';\n", "index.ts", ["guest"]),
        ("src/x/a.js", "const { Users } = require('../admin');\n", "index.js", ["admin"]),
        ("A.java", "import src.guest.Users;\n", "Users.java", ["guest"]),
        ("src/admin/A.java", "class A {}\n", "Users.java", ["admin"]),
        ("A.java", "class A {}\n", "Users.java", ["admin", "guest"]),
        ("a.rs", "use crate::admin::{Other, Users};\n", "mod.rs", ["admin"]),
        ("a.go", 'import (\n\t"fmt"\n\t"corp/src/guest"\n)\n', "users.go", ["guest"]),
        ("a.cc", '#include "src/admin/users.h"\n', "users.cc", ["admin"]),
        ("A.cs", "using Src.Other;\nusing src.guest;\n", "Users.cs", ["guest"]),
        ("A.php", "use src\\admin\\Users;\n", "Users.php", ["admin"]),
        ("a.rb", "require_relative 'src/guest/users'\n", "users.rb", ["guest"]),
        ("src/admin/users.py", "x = 1\n", "users.py", ["admin"]),
        ("lib.py", "import { broken\n", "users.py", ["admin", "guest"]),
    ],
)
def test_of_two_with_one_name_a_file_means_what_it_brings_in(
    name: str, text: str, ending: str, kept: list[str]
) -> None:
    assert _kept(name, text, ending) == kept


def test_what_a_function_brings_in_counts_for_it_alone() -> None:
    text = "def f():\n    from src.admin.users import Users\n\n\ndef g():\n    pass\n"
    far = "\n" * 400 + text
    path = RelPath("a.py")
    assert _kept("a.py", far, "users.py", caller=Place(path, 401, 402)) == ["admin"]
    assert _kept("a.py", far, "users.py", caller=Place(path, 405, 406)) == ["admin", "guest"]


def test_another_name_is_the_one_it_stands_for() -> None:
    text = (
        "import { Users as Boss } from './admin/users';\nimport { Users } from './guest/users';\n"
    )
    file = _opened("src/a.ts", text)
    assert renamed("Boss", file) == "Users"
    assert renamed("other", file) == "other"
    assert _kept("src/a.ts", text, "users.ts", "Boss") == ["admin"]


@pytest.mark.parametrize(
    ("text", "word", "foreign"),
    [
        ("import re\n", "re", True),
        ("from admin import users\n", "users", False),
        ('import (\n\t"fmt"\n\t"regexp"\n)\n', "regexp", True),
        ("import re\n", "users", False),
    ],
)
def test_a_module_that_none_of_them_is_in_is_foreign(
    text: str, word: str, *, foreign: bool
) -> None:
    assert is_foreign(word, _opened("a.py", text), _two("users.py")) is foreign


def test_the_owner_is_the_class_without_what_it_is_made_of() -> None:
    assert owner_of("Pool<T>.get") == "Pool"
    assert owner_of("View.prototype.render") == "View"
    assert owner_of("exports.charset") == ""
    assert owner_of("get") == ""
