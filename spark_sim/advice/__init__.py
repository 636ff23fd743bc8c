"""Derives advice from explorations: the upgrade guide of all releases, and the impact of a plan on a given group."""
