"""How many examples Hypothesis draws where its own hundred are too dear or too few."""

from hypothesis import settings

_USUAL = 100


def examples(number: int) -> int:
    """As many, and as many times more as the profile draws more than usual (``wander``, see ``conftest.py``)."""
    return number * settings.default.max_examples // _USUAL
