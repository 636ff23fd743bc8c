"""The command ``streams-assignor features``."""
