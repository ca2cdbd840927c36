"""Every published limit, from the constants where it is enforced."""

from live_memory.flow.ingesting import waiting
from live_memory.web import drain, guard, requests, routes
from live_memory.web.hosting import connections
from live_memory.web.mount import McpLimits

__all__ = ["published_limits"]


def published_limits() -> dict[str, float]:
    """Limits by name; a unit is part of the name."""
    mcp = McpLimits()
    return {
        "body_bytes": guard.MAX_BODY_BYTES,
        "body_deadline_s": guard.BODY_DEADLINE_S,
        "json_depth": requests.MAX_DEPTH,
        "json_values": requests.MAX_VALUES,
        "head_bytes": connections.MAX_HEAD_BYTES,
        "head_deadline_s": connections.HEAD_DEADLINE_S,
        "waiting_connections": connections.MAX_WAITING_CONNECTIONS,
        "mcp_body_bytes": mcp.body_bytes,
        "mcp_sessions": mcp.sessions,
        "mcp_session_idle_s": mcp.idle_s,
        "stop_grace_s": drain.STOP_GRACE_S,
        "answers_a_reply": routes.MOST_ANSWERS,
        "entries_a_timeline": routes.MOST_ENTRIES,
        "events_a_request": requests.MOST_EVENTS,
        "files_waiting_to_be_learned": waiting.MOST_WAITING,
    }
