"""`/metrics` by the library's own parser, against what `/stats` says and what the model counted."""

from pathlib import Path
from urllib.parse import quote

from prometheus_client.parser import text_string_to_metric_families

from tests.support.scripted_endpoint import Text, serving
from tests.support.server import running_server

_USAGE = {
    "prompt_tokens": 1_234,
    "completion_tokens": 56,
    "prompt_tokens_details": {"cached_tokens": 1_000},
}


def test_metrics_stats_and_the_model_agree_to_the_token(tmp_path: Path) -> None:
    project = tmp_path / 'odd "name"\\'
    project.mkdir()
    (project / "a.py").write_text("RETRY_LIMIT = 3\n")
    with serving() as endpoint:
        model = endpoint.open(rules=[lambda _: Text("RETRY_LIMIT is 3 (a.py:1).", usage=_USAGE)])
        settings = {
            "LIVE_MEMORY_PROVIDER": "openai",
            "LIVE_MEMORY_BASE_URL": f"{model.base_url}/v1",
            "LIVE_MEMORY_API_KEY": "sk-test-not-a-real-key-0001",
        }
        with running_server(tmp_path / "server", **settings) as server:
            for question in ("Where is RETRY_LIMIT set?", "How often is it tried again?"):
                server.ask(question, project)
            told = {"cwd": str(project), "text": "It is 3, as ever.", "category": "decision"}
            server.request("POST", "/v1/remember", told)
            left = {"cwd": str(project), "action": "leave", "summary": "Half is done."}
            server.request("POST", "/v1/handoff", left)
            stats = server.request("GET", f"/stats?cwd={quote(str(project))}").json
            reply = server.request("GET", "/metrics")

    families = {
        family.name: family for family in text_string_to_metric_families(reply.body.decode())
    }
    calls = len(model.requests)
    assert calls >= 2

    def of_model(name: str) -> float:
        return sum(s.value for s in families[f"live_memory_model_{name}"].samples)

    assert of_model("calls") == calls == stats["model_calls"]
    assert of_model("tokens") == calls * (1_234 + 56)
    assert of_model("cached_tokens") == calls * 1_000
    (questions,) = families["live_memory_questions"].samples
    assert (questions.labels, questions.value) == ({"workspace": str(project)}, 2)
    assert (stats["notes"], stats["open_handoffs"]) == (1, 1)
    same = "notes open_handoffs facts known_files indexed_files tokens_saved cost_usd"
    for name in same.split():
        (sample,) = families[f"live_memory_{name}"].samples
        assert sample.value == stats[name], name
    assert reply.headers["content-type"].startswith("text/plain")


def test_without_the_token_there_are_none(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        assert server.request("GET", "/metrics", headers={"Authorization": ""}).status == 401
