"""Every way in which the pipeline says no; the docstring is the message."""


class PipelineError(Exception):
    """The pipeline cannot do that."""

    def __str__(self) -> str:
        return super().__str__() or (self.__doc__ or "").strip()


class Busy(PipelineError):  # noqa: N818 - it names what happened
    """Another process does this work at the moment."""


class Elsewhere(PipelineError):  # noqa: N818 - it names what happened
    """A run that was begun goes to another address than this one."""


class CountsDiffer(PipelineError):  # noqa: N818 - it names what happened
    """The rows that were written are not those of the window."""


class Overtaken(PipelineError):  # noqa: N818 - it names what happened
    """The run is over, or another process moved the horizon: nothing of this attempt counts."""


class Behind(PipelineError):  # noqa: N818 - it names what happened
    """The standby that ARCHIVE_READ_URL names has not replayed the window within ten minutes."""


class Cancelled(PipelineError):  # noqa: N818 - it names what happened
    """The run was cancelled; nothing of it counts."""


class TooMuch(PipelineError):  # noqa: N818 - it names what happened
    """The filter chooses more messages than are staged at once."""
