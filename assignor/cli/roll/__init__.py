"""``streams-assignor roll``: an upgrade of a live group, executed step by step."""
