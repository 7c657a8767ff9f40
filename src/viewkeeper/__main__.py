"""`python -m viewkeeper` is the command `viewkeeper`."""

from viewkeeper.cli import main

if __name__ == "__main__":
    main()
