"""``python -m assignor`` is the console script ``streams-assignor``, with all of its commands.

The script is above this package, so it is found as the installed one is: by its entry point.
"""

from importlib.metadata import entry_points


def main() -> None:
    """Run the console script."""
    (script,) = entry_points(group="console_scripts", name="streams-assignor")
    script.load()()


if __name__ == "__main__":
    main()
