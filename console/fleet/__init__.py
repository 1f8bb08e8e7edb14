"""The page *Fleet*: cells, placements and moves; and what the overview shows of other cells."""
