"""What ends a member."""


class FatalError(Exception):
    """The member cannot go on, as a Kafka Streams thread would not: it has to be stopped, its tasks move elsewhere.

    ``kafka`` is the exception that Kafka throws at this point.
    """

    def __init__(self, message: str, kafka: str = "TaskAssignmentException") -> None:
        super().__init__(message)
        self.kafka = kafka

    def __str__(self) -> str:
        return f"{self.kafka}: {self.args[0]}"
