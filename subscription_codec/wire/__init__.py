"""Wire types: the encoding of single values, as a reference path and as a compiled fast path."""
