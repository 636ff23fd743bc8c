"""``python -m assignor`` is the console script ``streams-assignor``."""

from assignor.cli.main import main

if __name__ == "__main__":
    main()
