"""Reader of the text format, as in Prometheus."""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Exposition:
    """Exported samples by name and labels, with the type of every metric."""

    samples: dict[tuple[str, Labels], float]
    types: dict[str, str]
    helps: dict[str, str]

    @classmethod
    def parse(cls, text: bytes) -> Exposition:
        families = list(text_string_to_metric_families(text.decode()))
        names = {
            family.name: f"{family.name}_total" if family.type == "counter" else family.name for family in families
        }
        return cls(
            {
                (sample.name, frozenset(sample.labels.items())): sample.value
                for family in families
                for sample in family.samples
            },
            {names[family.name]: family.type for family in families},
            {names[family.name]: family.documentation for family in families},
        )

    def joined(self, other: Exposition) -> Exposition:
        """Merge with another page; both must agree where they overlap."""
        for name in self.samples.keys() & other.samples.keys():
            assert self.samples[name] == other.samples[name], name
        return Exposition(
            {**self.samples, **other.samples}, {**self.types, **other.types}, {**self.helps, **other.helps}
        )

    def value(self, name: str, **labels: str) -> float:
        """Only sample of this metric whose labels include these; KeyError without one."""
        (found,) = self.series(name, **labels).values() or [None]
        if found is None:
            raise KeyError(f"{name}{labels}")
        return found

    def series(self, name: str, **labels: str) -> dict[Labels, float]:
        """All samples of this metric whose labels include these."""
        wanted = labels.items()
        return {
            sample_labels: value
            for (sample_name, sample_labels), value in self.samples.items()
            if sample_name == f"signalbox_{name}" and wanted <= sample_labels
        }
