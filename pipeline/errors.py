"""Errors of the pipeline. The docstring of an error is its default message."""


class PipelineError(Exception):
    """The pipeline cannot run the request."""

    def __str__(self) -> str:
        return super().__str__() or (self.__doc__ or "").strip()


class Busy(PipelineError):  # noqa: N818 - it names what happened
    """Another process is doing this work: try again when it has ended."""


class Elsewhere(PipelineError):  # noqa: N818 - it names what happened
    """An unfinished archive run writes to another address."""


class CountsDiffer(PipelineError):  # noqa: N818 - it names what happened
    """The number of written rows differs from the number of rows in the database."""


class Overtaken(PipelineError):  # noqa: N818 - it names what happened
    """Another process ended the run or moved the horizon, so the results of this attempt do not count."""


class Behind(PipelineError):  # noqa: N818 - it names what happened
    """The standby that ARCHIVE_READ_URL names did not replay the window within ten minutes."""


class Cancelled(PipelineError):  # noqa: N818 - it names what happened
    """The run was cancelled; its results do not count."""


class TooMuch(PipelineError):  # noqa: N818 - it names what happened
    """The filter selects more messages than one replay may stage."""
