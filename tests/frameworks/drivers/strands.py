"""A Strands agent whose session manager keeps files."""

from __future__ import annotations

import contextlib
import logging
import tempfile
import traceback

from scenario import SESSION, add, fail, hang, wait
from strands import Agent, tool
from strands.models.openai import OpenAIModel
from strands.session.file_session_manager import FileSessionManager

from turnlog.demo.scripted_model import ScriptedModel


def not_its_own(record: logging.LogRecord) -> bool:
    """Strands itself, with or without turnlog, holds contexts across its yields and complains when its stream is left."""
    left = record.exc_info[1].__context__ if record.exc_info else None
    return left is None or "/strands/event_loop/" not in traceback.extract_tb(left.__traceback__)[-1].filename


logging.getLogger("opentelemetry.context").addFilter(not_its_own)


class Driver:
    raises = ()

    def __init__(self, model: ScriptedModel) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._agent = Agent(
            model=OpenAIModel(client_args={"base_url": model.base_url, "api_key": "none"}, model_id="scripted"),
            tools=[tool(each) for each in (add, fail, wait, hang)],
            session_manager=FileSessionManager(SESSION, storage_dir=self._folder.name),
            callback_handler=None,
        )

    async def turn(self, text: str) -> str:
        return str(await self._agent.invoke_async(text))

    async def stream(self, text: str, leave: bool = False) -> None:
        # An agent whose stream is not closed goes on being busy.
        async with contextlib.aclosing(self._agent.stream_async(text)) as events:
            async for event in events:
                if leave and "data" in event:
                    break
