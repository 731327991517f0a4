"""Claude Code writes, edits and reads a file with tools of its own, and fails to read another."""

from __future__ import annotations

import asyncio
import tempfile

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient
from drivers.claude_agent_sdk import environment

from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall

TOOLS = ["Write", "Edit", "Read", "Bash"]


async def change(folder: str) -> None:
    path = f"{folder}/note.md"
    script = [
        Reply("I write.", tool_calls=[ToolCall("Write", {"file_path": path, "content": "one\n"})]),
        Reply("I edit.", tool_calls=[ToolCall("Edit", {"file_path": path, "old_string": "one", "new_string": "two"})]),
        Reply("I read.", tool_calls=[ToolCall("Read", {"file_path": f"{folder}/missing.md"})]),
        Reply("I look.", tool_calls=[ToolCall("Bash", {"command": f"cp {path} {folder}/copy.md", "description": "copy"})]),
        "Done.",
    ]
    with ScriptedModel(script) as model, tempfile.TemporaryDirectory() as home:
        options = ClaudeAgentOptions(
            model="claude-sonnet-4-5",
            cwd=folder,
            setting_sources=[],
            permission_mode="acceptEdits",
            allowed_tools=TOOLS,
            env=environment(model, home),
        )
        async with ClaudeSDKClient(options) as client:
            await client.query("Change the note.")
            async for _ in client.receive_response():
                pass


def main(folder: str) -> None:
    asyncio.run(change(folder))
