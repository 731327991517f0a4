"""Whose tools can be replayed."""

from __future__ import annotations

from turnlog.replay.anthropic import ANTHROPIC
from turnlog.replay.by_hand import BY_HAND
from turnlog.replay.langchain import LANGCHAIN
from turnlog.replay.mcp import MCP
from turnlog.replay.openai_agents import OPENAI_AGENTS

TOOLS = (BY_HAND, LANGCHAIN, OPENAI_AGENTS, ANTHROPIC, MCP)
