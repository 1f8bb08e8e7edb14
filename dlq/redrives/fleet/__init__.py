"""A redrive over all cells of a fleet: a plan and a redrive in each cell that has some of the dead letters."""
