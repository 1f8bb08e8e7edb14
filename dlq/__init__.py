"""Dead letters: finding, grouping, redriving and purging what failed for good."""
