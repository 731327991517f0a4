"""Spans in, commits out. Pure: everything a commit says follows from a span's attributes and content."""

from turnlog.derive.commit import Commit, Decision, derive, input_of_tool

__all__ = ["Commit", "Decision", "derive", "input_of_tool"]
