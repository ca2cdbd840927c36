"""The three hosts that the tests drive: how each is configured, and how one session is run.

Each asks a model of ours: `{model}` stands for the address of its scripted endpoint.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["CODEX", "GEMINI", "OPENCODE", "Host", "Turn", "called"]

# What the scripted model says: a text, or a tool with its arguments.
Turn = str | tuple[str, str]


def called(tool: str, **given: object) -> Turn:
    """A call of a tool."""
    return tool, json.dumps(given)


@dataclass(frozen=True, slots=True)
class Host:
    """A host by its program, our tool as its model sees it, and what its user has below home."""

    name: str
    tool: str
    session: tuple[str, ...]
    environ: Mapping[str, str]
    files: Mapping[str, str]

    def shell(self, command: str) -> Turn:
        """A command in the host's own shell."""
        match self.name:
            case "codex":
                return called("exec_command", cmd=command)
            case "gemini":
                return called("run_shell_command", command=command)
            case _:
                return called("bash", command=command, description="Look.")


CODEX = Host(
    name="codex",
    tool="mcp__live_memory/ask_live_memory",
    session=(
        *("codex", "exec", "--json"),
        # A person reviews hooks in `/hooks`, which needs a terminal; `exec` skips the others.
        "--dangerously-bypass-hook-trust",
        # Its own sandbox needs namespaces that a container may not give.
        "--dangerously-bypass-approvals-and-sandbox",
        *("-c", 'model_providers.played.base_url="{model}/v1"'),
    ),
    environ={"PLAYED_KEY": "dummy-key"},
    files={
        ".codex/config.toml": """\
# A model that calls tools itself, and is offered `apply_patch`.
model = "gpt-5.5"
model_provider = "played"

[model_providers.played]   # its address comes with the command
name = "played"
wire_api = "responses"
env_key = "PLAYED_KEY"
"""
    },
)

GEMINI = Host(
    name="gemini",
    tool="mcp_live-memory_ask_live_memory",
    session=(
        *("gemini", "--output-format", "stream-json", "--approval-mode", "yolo"),
        # Of a folder that nobody trusted, no hooks run and no servers start.
        "--skip-trust",
        *("-m", "gemini-2.5-flash", "-p"),
    ),
    environ={"GEMINI_API_KEY": "dummy-key", "GOOGLE_GEMINI_BASE_URL": "{model}"},
    files={
        ".gemini/settings.json": """\
{
  // No browser here.
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "general": {"enableAutoUpdate": false},
  "privacy": {"usageStatisticsEnabled": false}
}
"""
    },
)

OPENCODE = Host(
    name="opencode",
    tool="live-memory_ask_live_memory",
    session=("opencode", "run", "--format", "json", "--auto"),
    environ={
        "PLAYED_URL": "{model}/v1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        # It fetches a package for plugins, and would try for a minute.
        "npm_config_fetch_retries": "0",
    },
    files={
        ".config/opencode/opencode.json": json.dumps(
            {
                "$schema": "https://opencode.ai/config.json",
                "model": "played/played",
                "small_model": "played/played",
                "autoupdate": False,
                "share": "disabled",
                "provider": {
                    "played": {
                        "npm": "@ai-sdk/openai-compatible",
                        "name": "played",
                        "options": {"baseURL": "{env:PLAYED_URL}", "apiKey": "dummy-key"},
                        "models": {
                            name: {"name": name, "limit": {"context": 200_000, "output": 8_000}}
                            for name in ("played", "gpt-5")  # this one is offered `apply_patch`
                        },
                    }
                },
            },
            indent=2,
        )
    },
)
