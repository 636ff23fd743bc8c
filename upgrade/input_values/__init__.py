"""The parsers of numbers, JSON, properties and files from outside: each returns a value or raises ``InvalidInput``.

Python's own parsers are not total: ``int`` and ``json.loads`` raise ``ValueError`` for a number of thousands of digits,
``json.loads`` raises ``RecursionError`` or ends Python, and accepts ``Infinity``, and ``open`` waits for a pipe without
a writer.
"""

# mypy: implicit-reexport
from streams_assignor.upgrade.input_values._files import (
    MAX_CAPTURE_BYTES,
    MAX_FILE_BYTES,
    open_input,
    read_all,
    read_input,
    read_lines,
    read_text,
)
from streams_assignor.upgrade.input_values._properties import parse_properties, parse_property_lines
from streams_assignor.upgrade.input_values._text import (
    InvalidInput,
    parse_json,
    parse_number,
    require_shallow,
)
