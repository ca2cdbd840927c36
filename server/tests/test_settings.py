"""Settings are merged in order, refused by name, and documented."""

from pathlib import Path

import pytest

from live_memory.cli.config import page
from live_memory.core.errors import InvalidRequest
from live_memory.settings import Settings, load

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def _file(folder: Path, text: str) -> Path:
    file = folder / "config.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_flag_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    file = _file(tmp_path, 'port = 1000\nhost = "::1"\nlog_level = "debug"')
    environ = {"LIVE_MEMORY_PORT": "2000", "LIVE_MEMORY_HOST": "localhost"}
    found = load({"port": 3000, "host": None}, environ, file)
    assert (found.settings.port, found.settings.host) == (3000, "localhost")
    assert found.settings.log_level == "debug"
    assert {name: found.sources[name] for name in ("data_dir", "host", "port", "log_level")} == {
        "data_dir": "default",
        "host": "environment",
        "port": "flag",
        "log_level": str(file),
    }
    assert found.sources.keys() == Settings.model_fields.keys()


def test_without_anything_set_the_defaults_hold(tmp_path: Path) -> None:
    found = load({}, {}, tmp_path / "none.toml")
    assert found.settings == Settings()
    assert found.settings.host == "127.0.0.1"


@pytest.mark.parametrize("value", ["0", "65536", "-1", "http", "1.5", "7711 ", "NaN"])
def test_a_bad_value_is_refused_with_its_name_and_where_it_was_set(
    value: str, tmp_path: Path
) -> None:
    if value == "7711 ":
        assert load({}, {"LIVE_MEMORY_PORT": value}, tmp_path / "n").settings.port == 7711
        return
    with pytest.raises(InvalidRequest, match=r"'port' \(environment\)"):
        load({}, {"LIVE_MEMORY_PORT": value}, tmp_path / "none.toml")


@pytest.mark.parametrize("text", ["port = ", "\ufeffport = [", "port = 'x'\nport = 'y'"])
def test_a_file_that_is_not_toml_is_refused_by_name(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"config\.toml is not a TOML file"):
        load({}, {}, _file(tmp_path, text))


def test_a_folder_in_the_place_of_the_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(InvalidRequest, match="cannot be read"):
        load({}, {}, tmp_path / "config.toml")


def test_a_setting_of_the_wrong_type_in_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=r"'port' \(.*config\.toml\)"):
        load({}, {}, _file(tmp_path, "port = [1]"))


def test_an_unknown_setting_is_ignored_with_a_warning(tmp_path: Path) -> None:
    found = load({}, {"LIVE_MEMORY_COLOUR": "red"}, _file(tmp_path, "colour = 'red'"))
    assert found.settings == Settings()
    assert [w for w in found.warnings if "'colour'" in w]


def test_every_setting_is_documented_and_the_page_is_the_generated_one() -> None:
    """`make docs` writes it."""
    assert all(field.description for field in Settings.model_fields.values())
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize(
    ("text", "globs"),
    [
        ("('*.csv', 'secrets/**')", ("*.csv", "secrets/**")),
        ("('*.csv',)", ("*.csv",)),
        ('("it\'s/*",)', ("it's/*",)),
        ("()", ()),
        ('[ "*.csv" ]', ("*.csv",)),
        ("[]", ()),
        ("[]x]* (a)", ("[]x]*", "(a)")),
        ("('a'b')", ("('a'b')",)),
        ("('*.csv')", ("('*.csv')",)),
        ("('a' + 'b')", ("('a'", "+", "'b')")),
    ],
)
def test_globs_are_read_as_this_or_an_earlier_version_wrote_them(
    text: str, globs: tuple[str, ...], tmp_path: Path
) -> None:
    """What was hidden stays hidden: a service keeps the environment that it was given."""
    assert load({}, {"LIVE_MEMORY_IGNORE": text}, tmp_path / "none").settings.ignore == globs


@pytest.mark.parametrize("name", ["data_dir", "log_file"])
def test_a_tilde_is_the_home_folder_wherever_it_is_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    file = _file(tmp_path, f'{name} = "~/lm"')
    for found in (load({}, {}, file), load({}, {f"LIVE_MEMORY_{name.upper()}": "~/lm"}, file)):
        assert getattr(found.settings, name) == tmp_path / "lm"
