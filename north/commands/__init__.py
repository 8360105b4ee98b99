"""The operator's commands, one module a group."""
