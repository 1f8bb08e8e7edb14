"""Figures of the fleet: the simulation of its balance, and the arithmetic of its capacity."""
