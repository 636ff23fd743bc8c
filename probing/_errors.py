"""The errors of version probing: local and remote protocol errors. The state is unchanged after either."""

from streams_assignor.codec.errors import StreamsAssignorError


class ProbingError(StreamsAssignorError):
    """Base class of the errors of ``probing``."""

    def __init__(self, message: str, java_exception: str) -> None:
        super().__init__(message)
        self.java_exception = java_exception
        """The exception that Kafka throws at this point. It terminates the stream thread."""

    def __str__(self) -> str:
        return f"{self.args[0]} (in Kafka: {self.java_exception})"


class LocalProtocolError(ProbingError):
    """We were asked for something impossible, such as sending a version that we do not have."""


class RemoteProtocolError(ProbingError):
    """Another member sent something that its rules or ours do not allow."""
