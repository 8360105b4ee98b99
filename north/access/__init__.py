"""Who may come in: firms, lawyers, passwords, web sessions, access tokens."""
