"""The command ``audit`` and its output."""
