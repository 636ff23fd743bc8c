"""``python -m streams_assignor`` is the console script ``streams-assignor``."""

from streams_assignor.cli.main import main

if __name__ == "__main__":
    main()
