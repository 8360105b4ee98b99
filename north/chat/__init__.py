"""One turn of the assistant: instructions, tools, model, threads."""
