"""The list of dead letters, and the causes they died of."""
