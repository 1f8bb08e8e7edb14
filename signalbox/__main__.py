"""`python -m signalbox`, where the console script is not on the path."""

from signalbox.cli import main

if __name__ == "__main__":
    main()
