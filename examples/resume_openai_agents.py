"""An agent of the OpenAI Agents SDK whose memory is turnlog's. Run it twice: the second run knows what the first was told."""

from agents import Agent, OpenAIResponsesModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

import turnlog
from turnlog.continuing.openai_agents import TurnlogSession
from turnlog.demo.scripted_model import ScriptedModel

SESSION = "dinner"
set_tracing_disabled(True)
turnlog.init(capture="full")


def answer(body: dict) -> str:
    """A stand-in for a model, so that the example runs offline. With a key, drop it and the client."""
    asked = [item["content"] for item in body["input"] if item.get("role") == "user"]
    return f"Asked so far: {' '.join(asked)}"


try:
    turnlog.resume(SESSION)
    said = "And for when?"
except turnlog.NotFound:
    said = "A table for two at Lorry, please."

with ScriptedModel(answer) as model:
    client = AsyncOpenAI(base_url=model.base_url, api_key="none")
    agent = Agent("host", model=OpenAIResponsesModel("scripted", client))
    print(Runner.run_sync(agent, said, session=TurnlogSession(SESSION)).final_output)
