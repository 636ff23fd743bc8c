"""A plug-in for pytest in Pyodide: a test that needs what WebAssembly has not is skipped, with that as its reason."""

import socket

import pytest

LACKING = {
    "emscripten does not support processes": "processes",
    "can't start new thread": "threads",
    "no listening sockets": "listening sockets",
    "no attribute 'mkfifo'": "pipes",
    "/dev/fd/": "pipes",
    "/dev/zero": "device files",
}
"""What the platform says, and what it has not."""


def _refuse(*_):
    raise OSError("no listening sockets")


def pytest_configure():
    """Pyodide itself would end at a listening socket, for want of a package of npm."""
    socket.socket.listen = _refuse


def _skip_if_lacking(error):
    for text, what in LACKING.items():
        if text in str(error):
            pytest.skip(f"WebAssembly has no {what}")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call():
    try:
        return (yield)
    except Exception as error:
        _skip_if_lacking(error)
        raise


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup():
    try:
        return (yield)
    except Exception as error:
        _skip_if_lacking(error)
        raise
