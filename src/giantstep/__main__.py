"""`python -m giantstep` is the command `giantstep`."""

from .cli import main

main()
