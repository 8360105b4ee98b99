"""How fast exports of other assistants are read, and in how much memory."""
