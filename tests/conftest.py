"""What all tests share."""

import signal
from contextlib import suppress

from hypothesis import HealthCheck, settings

# On a fresh machine the first text that Hypothesis draws builds its tables of Unicode, which takes seconds.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# A shell that runs the tests in the background makes them deaf to Ctrl-C, and with them all that they start.
with suppress(ValueError):  # not the main thread
    signal.signal(signal.SIGINT, signal.default_int_handler)
