"""The function of an application on RQ."""

from collections import Counter

done: Counter[int] = Counter()


def ship(order: int, express: bool = False) -> None:
    done[order] += 1
