"""What North remembers: saving, recall, editing, rules. No SQL and no web framework."""
