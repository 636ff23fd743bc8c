"""The reader of class files, on files that are written here."""

from contextlib import suppress
from struct import pack

import pytest

from streams_assignor.upgrade.application.class_file import (
    ABSTRACT,
    DEPRECATED,
    INTERFACE,
    PUBLIC,
    ClassMember,
    InvalidClass,
    Reference,
    ReferenceKind,
    read_class,
    read_header,
)
from tests.upgrade.application.class_bytes import GETFIELD, GETSTATIC, INVOKEINTERFACE, INVOKESTATIC, ClassBytes

KAFKA = "org/apache/kafka/streams/KafkaStreams"


def references(written):
    found = read_class(written.bytes(), with_references=True).references
    return {each for each in found if each.owner != "java/lang/Object"}


def test_it_reads_what_a_class_declares():
    written = ClassBytes("A", "B", ["C", "D"], PUBLIC | ABSTRACT, java=17)
    written.field("f", deprecated=True).method("m", "(I)V", flags=PUBLIC | ABSTRACT).attribute("Deprecated")
    found = read_class(written.bytes())

    assert ("A", "B", ("C", "D"), 17) == (found.name, found.superclass, found.interfaces, found.java)
    assert PUBLIC | ABSTRACT | DEPRECATED == found.flags
    assert (ClassMember("f", "I", PUBLIC | DEPRECATED), ClassMember("m", "(I)V", PUBLIC | ABSTRACT)) == found.members
    assert frozenset() == found.references


def test_a_class_without_a_superclass_has_none():
    assert "" == read_class(ClassBytes("java/lang/Object", "").bytes()).superclass
    assert not read_class(ClassBytes("java/lang/Object", "").bytes(), with_references=True).references


def test_it_finds_what_instructions_refer_to():
    written = (
        ClassBytes("A").calls(KAFKA, "close").calls(KAFKA, "x", "I", GETFIELD, 9).calls(KAFKA, "y", "I", GETSTATIC, 9)
    )
    written.calls(KAFKA, "of", opcode=INVOKESTATIC).calls("I", "run", opcode=INVOKEINTERFACE, tag=11).makes("N")
    found = {each.name or each.owner: each for each in references(written)}

    assert {"close", "x", "y", "of", "run", "N"} == found.keys()
    kinds = {name: (each.kind, each.is_static) for name, each in found.items()}
    assert (ReferenceKind.METHOD, False) == kinds["close"]
    assert (ReferenceKind.FIELD, False) == kinds["x"]
    assert (ReferenceKind.FIELD, True) == kinds["y"]
    assert (ReferenceKind.METHOD, True) == kinds["of"]
    assert (ReferenceKind.INTERFACE_METHOD, False) == kinds["run"]
    assert (ReferenceKind.INSTANCE, None) == kinds["N"]


def test_supertypes_and_caught_exceptions_are_references():
    written = ClassBytes("A", "B", ["C"]).method(code=b"\xb1", caught=["E", ""])

    assert {Reference("B"), Reference("C"), Reference("E")} == references(written)


def test_what_no_instruction_uses_is_no_reference():
    """Names in descriptors and in the list of inner classes are never linked."""
    written = ClassBytes("A").method(descriptor=f"(L{KAFKA};)V", code=b"\xb1")
    written.attribute("InnerClasses", pack(">HHHHH", 1, written.type(f"{KAFKA}$State"), 0, 0, 0))

    assert set() == references(written)


def test_of_an_array_its_elements_are_the_class():
    written = ClassBytes("A").makes(f"[[L{KAFKA};", 0xBD).makes("[I", 0xC0).calls(f"[L{KAFKA};", "clone")

    assert {Reference(KAFKA)} == references(written)


def test_a_lambda_refers_to_the_method_of_its_interface():
    written = ClassBytes("A").lambda_of("F", "apply", "(Ljava/lang/Object;)V").lambda_of("S", "make", "()V", "Concat")
    found = {each for each in references(written) if each.kind is ReferenceKind.LAMBDA}

    assert {("F", "apply", "(Ljava/lang/Object;)V")} == {(each.owner, each.name, each.descriptor) for each in found}


def test_a_method_reference_refers_to_its_method():
    written = ClassBytes("A")
    handle = written.constant(15, pack(">BH", 6, written.member(KAFKA, "of", "()V")))
    written.attribute("BootstrapMethods", pack(">HHHH", 1, handle, 1, handle))
    written.method(code=b"\x12" + bytes([handle]) + b"\xb1")

    assert {(KAFKA, "of")} == {(each.owner, each.name) for each in references(written)}


@pytest.mark.parametrize(
    "before",
    [
        b"\x03\x10\x01\x11\x00\x01\x84\x00\x01",  # iconst_0, bipush, sipush, iinc
        b"\xc4\x15\x00\x01\xc4\x84\x00\x01\x00\x01",  # wide iload, wide iinc
        b"\x03\xaa\0\0" + pack(">iiiii", 0, 5, 6, 0, 0),  # tableswitch of two
        b"\x03\xaa\0\0" + pack(">iii", 0, 6, 5),  # tableswitch of none
        b"\xab\0\0\0" + pack(">iiii", 0, 1, 9, 0),  # lookupswitch of one
        b"\xbc\x0a\xc8\0\0\0\x05",  # newarray, goto_w
    ],
)
def test_it_passes_over_every_kind_of_instruction(before):
    written = ClassBytes("A")
    code = before + b"\xbb" + pack(">H", written.type("N"))

    assert {Reference("N", kind=ReferenceKind.INSTANCE)} == references(written.method(code=code))


def test_a_long_takes_two_places_in_the_pool():
    written = ClassBytes("A")
    written.constant(5, bytes(8), places=2)

    assert {Reference("N", kind=ReferenceKind.INSTANCE)} == references(written.makes("N"))


def test_what_is_no_class_file_is_refused():
    with pytest.raises(InvalidClass, match=r"expected a class file, got b'PK"):
        read_class(b"PK\x03\x04")


WHOLE = ClassBytes("A", "B", ["C"]).calls(KAFKA, "close").lambda_of("F", "apply", "()V").bytes()


def test_a_shortened_class_file_is_refused():
    for size in range(4, len(WHOLE)):
        with pytest.raises(InvalidClass, match="damaged"):
            read_class(WHOLE[:size], with_references=True)


def test_a_changed_class_file_is_read_or_refused():
    for place in range(4, len(WHOLE)):
        for value in (0, 255):
            with suppress(InvalidClass):
                read_class(WHOLE[:place] + bytes([value]) + WHOLE[place + 1 :], with_references=True)


@pytest.mark.parametrize(
    "damage",
    [
        lambda it: it.method(code=b"\xff"),
        lambda it: it.calls(KAFKA, "x").method(code=b"\x12\xff"),
        lambda it: it.attribute("BootstrapMethods", b"\xff"),
    ],
    ids=["opcode", "constant", "bootstraps"],
)
def test_code_that_cannot_be_read_is_refused(damage):
    with pytest.raises(InvalidClass):
        read_class(damage(ClassBytes("A")).bytes(), with_references=True)


def test_a_name_that_is_no_text_is_refused():
    written = ClassBytes("A")
    written.constant(7, pack(">H", 2))
    with pytest.raises(InvalidClass):
        read_class(
            written.method(code=b"\x12" + bytes([written.constant(7, pack(">H", 2))])).bytes(), with_references=True
        )


def guarded(caught, tag=10, opcode=INVOKESTATIC):
    """A member of Kafka's, used in a block that catches something, and after it."""
    written = ClassBytes("A")
    used = bytes([opcode]) + pack(">H", written.member(KAFKA, "x", "()V" if tag == 10 else "I", tag))
    written.method(code=used, caught=[caught])
    return {each.owner for each in references(written)}


def test_what_the_code_expects_to_be_missing_is_no_reference():
    """A switch over an enum of another release catches NoSuchFieldError for each constant."""
    assert {"java/lang/NoSuchFieldError"} == guarded("java/lang/NoSuchFieldError", 9, GETSTATIC)
    assert {"java/lang/NoSuchMethodError"} == guarded("java/lang/NoSuchMethodError")
    assert {"java/lang/LinkageError"} == guarded("java/lang/LinkageError")
    assert {"java/lang/NoSuchFieldError", KAFKA} == guarded("java/lang/NoSuchFieldError")
    assert {"java/lang/Throwable", KAFKA} == guarded("java/lang/Throwable")


def test_a_call_behind_the_block_that_catches_is_a_reference():
    written = ClassBytes("A").makes("N")
    used = b"\xbb" + pack(">H", written.type("N"))
    written.method(code=b"\x00" * 3 + used, caught=["java/lang/NoClassDefFoundError"])

    assert Reference("N", kind=ReferenceKind.INSTANCE) in references(written)


def test_the_header_has_the_supertypes_and_the_classes_that_are_named():
    written = ClassBytes("A", "B", ["C", "D"], java=17).makes("N").makes("[LE;")
    written.constant(5, bytes(8), places=2)
    found = read_header(written.bytes())

    assert ("A", "B", ("C", "D"), 17) == (found.name, found.superclass, found.interfaces, found.java)
    assert {"A", "B", "C", "D", "N", "[LE;"} == {*found.named}
    assert "" == read_header(ClassBytes("java/lang/Object", "").bytes()).superclass


def test_a_damaged_header_is_refused():
    for size in range(10):
        with pytest.raises(InvalidClass):
            read_header(WHOLE[:size])
    wrong = ClassBytes("A")
    wrong.constant(7, pack(">H", 2))
    with pytest.raises(InvalidClass, match="damaged"):
        read_header(wrong.bytes())
    for place in range(4, len(WHOLE)):
        with suppress(InvalidClass):
            read_header(WHOLE[:place] + b"\xff" + WHOLE[place + 1 :])


def test_an_interface_keeps_its_flag():
    assert read_class(ClassBytes("A", flags=INTERFACE | ABSTRACT).bytes()).flags & INTERFACE
