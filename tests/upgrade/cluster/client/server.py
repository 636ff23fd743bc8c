"""A server of a few recorded answers: what brokers and controllers once sent, sent again over a real socket."""

import json
import socket
from contextlib import suppress
from pathlib import Path
from threading import Thread

API_VERSIONS, METADATA, DESCRIBE_CLUSTER, UPDATE_FEATURES = 18, 3, 60, 57
SILENCE, HANG_UP = "silence", "hang up"
_RECORDED = json.loads(Path(__file__).with_name("answers.json").read_text())["answers"]


def recorded(name):
    """An answer, from behind its correlation id, in hexadecimal."""
    return _RECORDED[name]["body"]


class Server:
    """Answers the first question of a kind with the first answer to it, and so on; the last answer is used again.

    `answers` go by API key: hexadecimal, `SILENCE` or `HANG_UP`. `asked` has key, version and body of every request.
    """

    def __init__(self, answers):
        self._answers = {
            key: list(given) if isinstance(given, (list, tuple)) else [given] for key, given in answers.items()
        }
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.asked = []
        Thread(target=self._serve, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    @property
    def updates(self):
        return [version for key, version, _ in self.asked if key == UPDATE_FEATURES]

    def _serve(self):
        with suppress(OSError):  # closed
            while True:
                Thread(target=self._talk, args=(self._listener.accept()[0],), daemon=True).start()

    def _talk(self, connection):
        with connection, suppress(OSError), connection.makefile("rb") as requests:
            while size := requests.read(4):
                request = requests.read(int.from_bytes(size, "big"))
                key, version = int.from_bytes(request[:2], "big"), int.from_bytes(request[2:4], "big")
                self.asked.append((key, version, request[8:]))
                answer = self.answer(key, version, request[8:])
                if answer is None:
                    return
                if answer != SILENCE.encode():
                    connection.sendall((4 + len(answer)).to_bytes(4, "big") + request[4:8] + answer)

    def answer(self, key, version, body):  # noqa: ARG002  # subclasses use them
        """The answer from behind its correlation id; None hangs up."""
        answers = self._answers[key]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer in {HANG_UP, SILENCE}:
            return None if answer == HANG_UP else SILENCE.encode()
        return bytes.fromhex(answer.replace("PPPPPPPP", f"{self.port:08x}"))


def results(*errors):
    """An UpdateFeatures v1 answer with a result, `(feature, code, message)`, for each feature."""
    body = b"".join(text(name) + code.to_bytes(2, "big") + text(message) + b"\0" for name, code, message in errors)
    return (bytes(8) + bytes([len(errors) + 1]) + body + b"\0").hex()


def text(words):
    return bytes([len(words) + 1]) + words.encode()
