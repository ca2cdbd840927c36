// Live Memory in opencode: tells the server what the agent read, changed and ran.
// Names, line ranges and commands leave this process, no text of a file and no output; of what the
// agent said, its last message and how its task begins. opencode never waits, and no failure here
// is one there.
import { spawn } from "node:child_process"

const PROGRAM = ["live-memory"]
const TOOLS = new Set(["read", "write", "edit", "multiedit", "apply_patch", "patch", "bash"])
const HUNK = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@/gm

const tell = (event) => {
  try {
    const [program, ...words] = PROGRAM
    const hook = spawn(program, [...words, "hook", "opencode"], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    })
    hook.on("error", () => {})
    hook.stdin.on("error", () => {})
    hook.stdin.end(JSON.stringify(event))
    hook.unref()
  } catch {}
}

const ranges = (diff) =>
  [...String(diff ?? "").matchAll(HUNK)]
    .slice(0, 33)
    .map(([, first, count]) => ({ newStart: Number(first), newLines: Number(count ?? 1) }))

const changed = (file) => [
  ...(file.movePath ? [{ file_path: file.filePath, change: "delete" }] : []),
  {
    file_path: file.movePath ?? file.filePath,
    change: file.type === "move" ? "update" : file.type,
    structuredPatch: ranges(file.patch),
  },
]

const words = (parts) =>
  parts
    .filter((part) => part.type === "text" && !part.synthetic)
    .map((part) => part.text)
    .join("\n")
    .slice(0, 32_000)

const ofTool = ({ tool, args = {} }, { metadata = {} }) => {
  const { display, exit, diff, files } = metadata
  return {
    tool_name: tool,
    tool_input: {
      file_path: args.filePath,
      offset: args.offset,
      limit: args.limit,
      command: args.command,
      workdir: args.workdir,
      files: files?.flatMap(changed),
    },
    tool_response: {
      file: display && {
        startLine: display.lineStart,
        numLines: display.lineEnd - display.lineStart + 1,
      },
      structuredPatch: diff && !files ? ranges(diff) : undefined,
      exit,
      interrupted: tool === "bash" && exit == null,
    },
  }
}

export const LiveMemory = async ({ client, directory }) => {
  // No hook of ours fails, or is waited for.
  const told = (name, of) => async (input, output) => {
    Promise.resolve()
      .then(() => of(input, output))
      .then((event) => event && tell({ hook_event_name: name, cwd: directory, ...event }))
      .catch(() => {})
  }
  const ended = async (session) => {
    const path = { id: session }
    const { data: messages } = await client.session.messages({ path })
    const said = messages.filter((message) => message.info.role === "assistant").at(-1)
    const { data: its } = await client.session.get({ path })
    return {
      session_id: session,
      agent_type: its.parentID ? "subagent" : undefined,
      last_assistant_message: words(said?.parts ?? []),
    }
  }
  const idle = told("session.idle", ({ event }) => ended(event.properties.sessionID))
  const created = told("session.created", ({ event }) => ({ session_id: event.properties.info.id }))
  return {
    event: async (input) => {
      if (input.event.type === "session.idle") await idle(input)
      if (input.event.type === "session.created") await created(input)
    },
    "chat.message": told("chat.message", ({ sessionID }, { parts }) => ({
      session_id: sessionID,
      prompt: words(parts),
    })),
    "tool.execute.after": told("tool.execute.after", (input, output) =>
      TOOLS.has(input.tool) && output.metadata?.display?.type !== "directory"
        ? { session_id: input.sessionID, ...ofTool(input, output) }
        : undefined,
    ),
  }
}
