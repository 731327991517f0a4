"""A Claude agent with no line of turnlog in it. Record it with: turnlog run python examples/claude_agent.py"""

import asyncio
import tempfile

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, create_sdk_mcp_server, query, tool

from turnlog.demo.scripted_model import Reply, ScriptedModel, ToolCall


@tool("get_weather", "The weather in a city.", {"city": str})
async def get_weather(arguments: dict) -> dict:
    return {"content": [{"type": "text", "text": f"12 °C and rain in {arguments['city']}"}]}


# A stand-in for a model, so that the example runs offline. With a key, drop it and the environment.
SCRIPT = [
    Reply("I look up the weather first.", tool_calls=[ToolCall("mcp__weather__get_weather", {"city": "Oslo"})]),
    Reply("Take an umbrella."),
]


async def main() -> None:
    with ScriptedModel(SCRIPT) as model, tempfile.TemporaryDirectory() as home:
        options = ClaudeAgentOptions(
            cwd=home,
            mcp_servers={"weather": create_sdk_mcp_server("weather", tools=[get_weather])},
            allowed_tools=["mcp__weather__get_weather"],
            setting_sources=[],
            env={
                "ANTHROPIC_BASE_URL": model.url,
                "ANTHROPIC_API_KEY": "none",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "CLAUDE_CONFIG_DIR": home,
                "HOME": home,
            },
        )
        async for message in query(prompt="What do I wear in Oslo?", options=options):
            if isinstance(message, ResultMessage):
                print(message.result)


asyncio.run(main())
