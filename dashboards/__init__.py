"""Grafana dashboards: YAML sources, the components they are built from, and the built JSON that people import."""

import warnings

with warnings.catch_warnings():
    # On Python 3.11 the builder imports the deprecated `imp`, to load plugins by their path, which we do not do.
    warnings.simplefilter("ignore", DeprecationWarning)
    import grafana_dashboards.common  # noqa: F401
