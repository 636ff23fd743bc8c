"""Class files with one instruction for each reference of a library, so that a JVM resolves exactly those."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from struct import pack
from typing import Final

from attrs import frozen

from streams_assignor.upgrade.application.class_file import (
    FINAL,
    INTERFACE,
    PUBLIC,
    STATIC,
    ClassFile,
    Reference,
    ReferenceKind,
)
from streams_assignor.upgrade.application.code import Code
from tests.upgrade.application.class_bytes import GETFIELD, GETSTATIC, INVOKEINTERFACE, NEW, ClassBytes

_TYPES: Final = re.compile(r"\[*(?:L[^;]+;|[BCDFIJSZ])")
_ZEROS: Final = {"J": 0x09, "F": 0x0B, "D": 0x0E, "[": 0x01, "L": 0x01}
_ICONST_0, _ACONST_NULL, _POP, _POP2, _RETURN, _LDC_W, _ALOAD_0 = 0x03, 0x01, 0x57, 0x58, 0xB1, 0x13, 0x2A
_INVOKEVIRTUAL, _INVOKESPECIAL = 0xB6, 0xB7
_FIELD_TAG, _METHOD_TAG, _INTERFACE_TAG, _HANDLE_TAG = 9, 10, 11, 15
_STATIC_HANDLE, _NEW_HANDLE = 6, 8
_CONSTRUCTOR: Final = "<init>"
_OBJECT: Final = "java/lang/Object"


@frozen
class Probe:
    """A class file, and the reference of each of its methods ``m0``, ``m1``, ..."""

    name: str
    content: bytes
    references: tuple[Reference, ...]


def probes_of(found: ClassFile, references: Iterable[Reference], number: int, code: Code) -> Sequence[Probe]:
    """Return the probes of a class: one for all that can be in methods, and one for each constructor of its superclass.

    They are in the package of the class and have its superclass, as access depends on both.
    """
    ordered = sorted(references, key=lambda each: (each.owner, each.name, each.descriptor, each.kind.value))
    parents = [each for each in ordered if each.name == _CONSTRUCTOR and each.owner == found.superclass]
    others = [each for each in ordered if each not in parents]
    package = found.name.rpartition("/")[0]
    folder = f"{package}/" if package else ""
    name = f"{folder}Probe{number}"
    superclass = found.superclass if found.superclass in code and others else _OBJECT
    if superclass != _OBJECT and code[superclass].flags & (FINAL | INTERFACE):
        superclass = _OBJECT
    written = ClassBytes(name, superclass)
    for place, each in enumerate(others):
        written.method(f"m{place}", code=_code(written, each), flags=PUBLIC | STATIC)
    probes = [Probe(name, written.bytes(), tuple(others))] if others else []
    for place, each in enumerate(parents):
        child = ClassBytes(f"{name}s{place}", found.superclass)
        zeros = _zeros(each.descriptor)
        call = bytes([_INVOKESPECIAL]) + pack(">H", child.member(each.owner, each.name, each.descriptor))
        child.method(_CONSTRUCTOR, code=bytes([_ALOAD_0]) + zeros + call + bytes([_RETURN]))
        probes.append(Probe(f"{name}s{place}", child.bytes(), (each,)))
    return probes


def _zeros(descriptor: str) -> bytes:
    """Return the instructions that load null or zero for each parameter."""
    parameters = _TYPES.findall(descriptor[1 : descriptor.index(")")])
    return bytes(_ZEROS.get(each[0], _ICONST_0) for each in parameters)


def _dropped(kind: str) -> bytes:
    return b"" if kind == "V" else bytes([_POP2 if kind in {"J", "D"} else _POP])


def _code(written: ClassBytes, reference: Reference) -> bytes:
    """Return the instructions that resolve a reference, and nothing behind it: the receiver is null."""
    end = bytes([_RETURN])
    owner, name, descriptor = reference.owner, reference.name, reference.descriptor
    if not name:
        opcode = NEW if reference.kind is ReferenceKind.INSTANCE else _LDC_W
        return bytes([opcode]) + pack(">H", written.type(owner)) + bytes([_POP]) + end
    if reference.kind is ReferenceKind.FIELD:
        receiver, opcode = (b"", GETSTATIC) if reference.is_static else (bytes([_ACONST_NULL]), GETFIELD)
        member = pack(">H", written.member(owner, name, descriptor, _FIELD_TAG))
        return receiver + bytes([opcode]) + member + _dropped(descriptor[0]) + end
    tag = _INTERFACE_TAG if reference.kind is ReferenceKind.INTERFACE_METHOD else _METHOD_TAG
    index = written.member(owner, name, descriptor, tag)
    if reference.is_static or name == _CONSTRUCTOR:  # a handle is resolved alike, and nothing is called
        handle = written.constant(
            _HANDLE_TAG, pack(">BH", _NEW_HANDLE if name == _CONSTRUCTOR else _STATIC_HANDLE, index)
        )
        return bytes([_LDC_W]) + pack(">H", handle) + bytes([_POP]) + end
    zeros = bytes([_ACONST_NULL]) + _zeros(descriptor)
    if reference.kind is ReferenceKind.INTERFACE_METHOD:
        size = 1 + sum(2 if each in {"J", "D"} else 1 for each in _TYPES.findall(descriptor[1 : descriptor.index(")")]))
        call = bytes([INVOKEINTERFACE]) + pack(">HBB", index, size, 0)
    else:
        call = bytes([_INVOKEVIRTUAL]) + pack(">H", index)
    return zeros + call + _dropped(descriptor[descriptor.index(")") + 1]) + end
