"""The parts of docs/reference.py: each page is a function from the code to Markdown."""
