"""The client of a fleet: it sends each message to the cell that takes it, and receives from every cell of a queue."""
