"""The pages in a real Chromium: how quickly they stand there, and how they look."""
