"""The leader's part: not yet."""
OPERATIONS = {}
