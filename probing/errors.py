"""Whose fault it is, in h11's sense; after either error nothing has changed."""


class ProbingError(Exception):
    """Base class. ``kafka`` is the exception that Kafka throws at this point, which ends the stream thread there."""

    def __init__(self, message: str, kafka: str) -> None:
        super().__init__(message)
        self.kafka = kafka

    def __str__(self) -> str:
        return f"{self.args[0]} (in Kafka: {self.kafka})"


class LocalProtocolError(ProbingError):
    """We were asked for something impossible, such as sending a version that we do not have."""


class RemoteProtocolError(ProbingError):
    """Another member sent something that its rules or ours do not allow."""
