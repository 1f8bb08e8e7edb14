"""Every way in which the pipeline says no; the docstring is the message."""


class PipelineError(Exception):
    """The pipeline cannot do that."""

    def __str__(self) -> str:
        return super().__str__() or (self.__doc__ or "").strip()


class Busy(PipelineError):  # noqa: N818 - it names what happened
    """Another process is at it, and takes what this one would have taken."""


class Elsewhere(PipelineError):  # noqa: N818 - it names what happened
    """A run that was begun goes to another address than this one."""


class CountsDiffer(PipelineError):  # noqa: N818 - it names what happened
    """What was written is not what the window has."""


class Overtaken(PipelineError):  # noqa: N818 - it names what happened
    """The run is over, or the horizon was moved by somebody else: nothing of this attempt counts."""


class Behind(PipelineError):  # noqa: N818 - it names what happened
    """The standby that ARCHIVE_READ_URL names has not replayed the window within ten minutes."""


class Cancelled(PipelineError):  # noqa: N818 - it names what happened
    """The run was cancelled; nothing of it counts."""


class TooMuch(PipelineError):  # noqa: N818 - it names what happened
    """More is chosen than is staged at once."""
