"""What all tests share."""

from hypothesis import HealthCheck, settings

# On a fresh machine the first text that Hypothesis draws builds its tables of Unicode, which takes seconds.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
