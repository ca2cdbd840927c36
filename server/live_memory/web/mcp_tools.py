"""The arguments of the MCP tools, and the two tools for asking now and collecting later."""

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field, SkipValidation, WithJsonSchema

from live_memory.core.asking.reply import render
from live_memory.core.errors import InvalidRequest, LiveMemoryError
from live_memory.flow.jobs import Jobs
from live_memory.ports import Clock
from live_memory.web.errors import problem_of
from live_memory.web.requests import folder, parse_question, project_of

__all__ = ["AnswerTokens", "Cwd", "QuestionText", "Timeout", "add_async_tools"]

# The arguments are checked by the same rules as those of `/v1/ask`, whose texts say what to send;
# the library's own check, which would answer first, is off.
QuestionText = Annotated[
    str,
    SkipValidation,
    Field(description="One question about this codebase, in a sentence."),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 20_000}),
]
Cwd = Annotated[
    object,
    Field(description="Absolute path of the project. Leave out where the client names it."),
    WithJsonSchema({"type": "string"}),
]
Timeout = Annotated[
    object,
    Field(description="Seconds until the reply is due."),
    WithJsonSchema({"type": "number", "minimum": 5, "maximum": 1800}),
]
AnswerTokens = Annotated[
    object,
    Field(description="About how long the answer may be, in tokens."),
    WithJsonSchema({"type": "integer", "minimum": 256, "maximum": 32_000}),
]
JobId = Annotated[
    object,
    Field(description="What `ask_live_memory_submit` gave."),
    WithJsonSchema({"type": "string"}),
]
_READ_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)


def add_async_tools(server: MCPServer[object], jobs: Jobs, *, clock: Clock) -> None:
    """Offer `ask_live_memory_submit` and `ask_live_memory_result`."""

    async def ask_live_memory_submit(
        question: QuestionText,
        context: Context[object],
        cwd: Cwd = None,
        timeout: Timeout = 60,
        max_answer_tokens: AnswerTokens = 2000,
    ) -> CallToolResult:
        try:
            asked = parse_question(
                question,
                timeout=timeout,
                max_answer_tokens=max_answer_tokens,
                asked_at=clock.now(),
            )
            job_id = jobs.submit(await folder(cwd, project_of(context.headers)), asked)
        except LiveMemoryError as error:
            raise ToolError(str(problem_of(error))) from error
        return _text(job_id)

    async def ask_live_memory_result(job_id: JobId) -> CallToolResult:
        try:
            if not isinstance(job_id, str):
                raise InvalidRequest("job_id must be the text that ask_live_memory_submit gave")
            found = jobs.result(job_id)
        except LiveMemoryError as error:
            raise ToolError(str(problem_of(error))) from error
        return _text(f"[running] {found}" if isinstance(found, str) else render(found))

    server.add_tool(
        ask_live_memory_submit,
        description="Ask like `ask_live_memory`, but get a job id at once and collect later.",
        annotations=_READ_ONLY,
        structured_output=False,
    )
    server.add_tool(
        ask_live_memory_result,
        description="Collect the answer of a job, or hear that it is still `[running]`.",
        annotations=_READ_ONLY,
        structured_output=False,
    )


def _text(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)])
