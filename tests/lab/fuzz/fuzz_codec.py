"""The atheris target: ``python -m tests.lab.fuzz.fuzz_codec CORPUS [libFuzzer's options]``, see README."""

import sys


def main():
    """Fuzz until libFuzzer stops."""
    import atheris  # only here: the replay of its findings does without

    with atheris.instrument_imports(include=["subscription_codec"]):
        from tests.lab.fuzz import checks

    # The fast path is compiled on first use, which no import hook sees.
    for layouts in checks.LAYOUTS.values():
        for layout in layouts.values():
            layout.__dict__["fast_decode"] = atheris.instrument_func(layout.fast_path.read)
            layout.__dict__["fast_encode"] = atheris.instrument_func(layout.fast_path.write)

    def one_input(data):
        if data:
            checks.check(data[0], data[1:])

    # To merge and to run jobs, libFuzzer calls itself by this name, through a shell.
    atheris.Setup([f"{sys.executable} -m tests.lab.fuzz.fuzz_codec", *sys.argv[1:]], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
