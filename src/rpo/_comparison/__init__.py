"""Learners and networks on a table whose domains are held out in turn."""
