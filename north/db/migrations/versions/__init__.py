"""One module a revision; each runs the SQL file of the same name."""
