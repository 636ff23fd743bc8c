"""Derives advice: the upgrade guide of all releases, the impact of a plan on a group, plans for open patch levels."""
