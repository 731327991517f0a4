"""Conversations that go on in a fresh process: as a list of messages, and in the form of each framework's own memory."""
