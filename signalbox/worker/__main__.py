"""`python -m signalbox.worker QUEUE module:handler`."""

from signalbox.worker.command import main

if __name__ == "__main__":
    main()
