"""`python -m rpo`: the same as the command `rpo`."""

from rpo.cli import main

if __name__ == "__main__":  # importing every module must not start the command
    main()
