"""Reads what other assistants export: conversations, and what they remember of their user. One file a source."""
