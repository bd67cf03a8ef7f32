"""`python -m rpo` is the command `rpo`."""

from rpo.cli import main

main()
