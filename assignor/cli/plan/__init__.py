"""The command ``plan``: its text, its runbook, and the change between the classic and the streams protocol."""
