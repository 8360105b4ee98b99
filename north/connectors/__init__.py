"""What North reads from outside: embedding models, document systems, chat-history exports."""
