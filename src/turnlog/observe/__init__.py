"""What tool calls really do to files while they run in this process. Stateful; the deriver only gets the result."""

from turnlog.observe.observer import Observer

__all__ = ["Observer"]
