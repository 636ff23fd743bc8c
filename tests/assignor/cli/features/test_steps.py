"""The tool says what it is doing, where its caller shows it."""

import click
import pytest

from streams_assignor.cli.features import click_support
from streams_assignor.cli.features.click_support import confirm_unsafe, say_step


def test_a_caller_that_shows_steps_gets_them():
    seen = []
    with click.Context(click.Command("features")) as context:
        say_step("asking nobody")
        context.meta["streams-assignor.step"] = seen.append
        say_step("asking a:1")

    assert seen == ["asking a:1"]


@pytest.mark.parametrize("answer", [True, False])
def test_waiting_for_an_answer_is_no_step(monkeypatch, answer):
    seen = []
    monkeypatch.setattr(click_support, "_is_interactive", lambda: True)
    monkeypatch.setattr(click, "confirm", lambda *_, **__: seen.append("asked") or answer)
    with click.Context(click.Command("features")) as context:
        context.meta["streams-assignor.step"] = seen.append
        if answer:
            confirm_unsafe("It may destroy metadata")
        else:
            with pytest.raises(click_support.CommandFailure, match="Nothing was changed"):
                confirm_unsafe("It may destroy metadata")

    assert seen == ["", "asked"]
