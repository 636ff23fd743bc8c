"""The command of pip, also for a Python that has none: environments that uv makes have none."""

import sys

import pytest

from tests.lab.integration import kafka_jars, operator_image
from tests.lab.integration.kafka_jars import Unavailable, pip_command


def hide_pip(monkeypatch):
    monkeypatch.setattr(kafka_jars, "find_spec", lambda _: None)


def test_a_python_with_pip_uses_its_own(monkeypatch):
    monkeypatch.setattr(kafka_jars, "find_spec", lambda name: name)

    assert pip_command() == [sys.executable, "-m", "pip"]


def test_uv_brings_pip_for_this_python(monkeypatch):
    hide_pip(monkeypatch)
    monkeypatch.setattr(kafka_jars, "program", lambda name, _: f"/bin/{name}")

    assert pip_command()[:2] == ["/bin/uv", "run"]
    assert sys.executable in pip_command()
    assert pip_command()[-3:] == ["python", "-m", "pip"]


def test_without_pip_and_uv_is_one_sentence(monkeypatch):
    """It was a traceback of ``No module named pip``."""
    hide_pip(monkeypatch)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)

    with pytest.raises(Unavailable, match=r"^no 'uv' on PATH \(this Python has no pip: install pip into it, or uv\)$"):
        pip_command()


def test_wheels_that_pip_cannot_download_are_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(operator_image, "cache_folder", lambda: tmp_path)
    failing = [sys.executable, "-c", "import sys; sys.exit('no such wheel')"]
    monkeypatch.setattr(operator_image, "pip_command", lambda: failing)

    with pytest.raises(Unavailable, match=r"^pip cannot download the wheels of the image: no such wheel$"):
        operator_image.download_wheels()
    assert not list(tmp_path.glob("wheels*"))
