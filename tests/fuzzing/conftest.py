"""The guided fuzzer is a program, not a test: it needs `rpo[fuzz]` and instruments what it imports."""

collect_ignore = ["guided.py"]
