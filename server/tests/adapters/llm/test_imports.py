"""The providers' SDKs take a second to import, so nothing imports them before they are used."""

import subprocess
import sys

PROGRAM = """
import sys
from live_memory.adapters.llm import anthropic, openai_compatible, prices, retry
from live_memory.adapters.llm.endpoint import Endpoints, Target
target = Target("http://127.0.0.1:1", "m")
for make in (anthropic.anthropic_model, openai_compatible.openai_compatible_model):
    make(target, Endpoints().lessons(target)).abilities
print(sorted({"anthropic", "openai", "genai_prices"} & sys.modules.keys()))
"""


def test_constructing_a_model_imports_no_sdk() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout == "[]\n"
