"""The MCP server through which an agent, or one that watches it, reads session state while it runs, and reports its own.

Every tool is the rendering of a function of `queries`, within a token budget: facts first, a cursor for more. What was stored
is data: it comes quoted, one line each, cut, and as a whole only where a commit is named.
"""
