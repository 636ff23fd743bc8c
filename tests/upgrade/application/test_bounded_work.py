"""Readers of an application's code: twice the worst input is about twice the work."""

from struct import pack

import pytest

from streams_assignor.upgrade.application import class_file, own_methods
from streams_assignor.upgrade.application.archive import Archives
from streams_assignor.upgrade.application.class_file import STATIC, InvalidClass, read_class, read_header
from streams_assignor.upgrade.application.code_settings import settings_in_code
from streams_assignor.upgrade.application.value_flow import WorkLimit
from tests.upgrade.application.class_bytes import INVOKESTATIC, ClassBytes
from tests.upgrade.application.test_containers import docker, tarred, zipped
from tests.work import growth

CLASS = ClassBytes("A").bytes()
LINEAR = 2.2
"""What is done once makes less of it, a counter that was remembered more."""


@pytest.fixture(autouse=True)
def _texts_count_by_their_length(monkeypatch):
    def decoded(content, place):
        text = original(content, place)
        for _ in range(len(text) // 100):
            len(text)
        return text

    original = class_file._decoded
    monkeypatch.setattr(class_file, "_decoded", decoded)


def u2(*numbers):
    return pack(f">{len(numbers)}H", *numbers)


def class_of(constants, members=b"\0\0", methods=b"\0\0", attributes=b"\0\0"):
    """A class file of raw parts; constants 1 to 3 are its name, its class and ``Code``."""
    head = [b"\1\0\1A", b"\7\0\1", b"\1\0\4Code", *constants]
    return (
        b"\xca\xfe\xba\xbe\0\0\0\x34"
        + u2(len(head) + 1)
        + b"".join(head)
        + u2(0, 2, 0, 0)
        + members
        + methods
        + attributes
    )


def long_text(count, size=20_000):
    text = b"[" * size + b"LX;"
    return [b"\1" + u2(len(text)) + text, *[b"\7\0\4"] * count]


def one_text_for_all(count):
    methods = u2(count) + b"".join(u2(0, 4, 4, 0) for _ in range(count))
    return class_of(long_text(count), methods=methods, members=methods)


def instructions_about_one_text(count):
    code = b"".join(b"\xbb" + u2(5 + place) for place in range(count))
    return class_of(long_text(count), methods=u2(1, 0, 1, 1, 1, 3) + attribute(code))


def attribute(code, handlers=b""):
    body = u2(9, 9) + pack(">I", len(code)) + code + u2(len(handlers) // 8) + handlers + u2(0)
    return pack(">I", len(body)) + body


def guarded(count):
    error = b"java/lang/LinkageError"
    constants = [b"\1" + u2(len(error)) + error, b"\7\0\4"]
    handlers = b"".join(u2(place, 3 * count, 0, 5) for place in range(count))
    return class_of(constants, methods=u2(1, 0, 1, 1, 1, 3) + attribute(b"\xbb\0\2" * count, handlers))


def code_past_its_attribute(count):
    """Each method states the rest of the file as its code."""
    each = u2(0, 1, 1, 1, 3)
    body = b"".join(each + pack(">I", 14) + u2(9, 9) + pack(">I", 20_000) + bytes(6) for _ in range(count))
    return class_of([], methods=u2(count) + body + bytes(30_000))


def bootstraps_past_their_attribute(count):
    name = b"\1" + u2(16) + b"BootstrapMethods"
    each = u2(4) + pack(">I", 6) + u2(0xFFFF, 0, 0xFFFF)
    return class_of([name], attributes=u2(count) + each * count + bytes(100_000))


@pytest.mark.parametrize(
    ("make", "size"),
    [
        (one_text_for_all, 200),
        (instructions_about_one_text, 200),
        (guarded, 500),
        (code_past_its_attribute, 100),
        (bootstraps_past_their_attribute, 100),
    ],
)
def test_the_work_for_a_class_grows_with_its_bytes(make, size):
    def read(content):
        read_class(content, with_references=True)

    assert growth(read, make, size) < LINEAR
    assert growth(read_header, make, size) < LINEAR


@pytest.mark.parametrize("make", [code_past_its_attribute, bootstraps_past_their_attribute])
def test_a_length_beyond_its_attribute_is_damage(make):
    with pytest.raises(InvalidClass):
        read_class(make(1), with_references=True)


def test_an_instruction_beyond_its_code_is_damage():
    with pytest.raises(InvalidClass):
        read_class(ClassBytes("A").method(code=b"\xbb\0").bytes(), with_references=True)


def pom(number):
    group = f"g{number}"
    return {f"META-INF/maven/{group}/a/pom.properties": f"groupId={group}\nartifactId=a{number}\nversion=1\n"}


def merged(count):
    poms = {name: text for number in range(count) for name, text in pom(number).items()}
    return zipped({**poms, **{f"p{number}/A.class": CLASS for number in range(count)}})


def copies(count):
    names = ("common/TopicPartition", "clients/CommonClientConfigs", "Own")
    return zipped({f"p{number}/{name}.class": CLASS for number in range(count) for name in names})


def scripts(count):
    jars = {f"lib/{number}.jar": zipped({f"p{number}/A.class": CLASS}) for number in range(count)}
    return tarred({**jars, **{f"bin/{number}": b"java -jar x.jar com.example.Main" for number in range(count)}})


def dashes(count):
    return zipped({f"{'-1' * 50 * count}!.jar": zipped({"A.class": CLASS})})


def deep(count):
    return zipped({f"{'a/' * 100 * count}A.class": CLASS})


def whiteouts(count):
    layers = [tarred({f"app/{number}.jar": b"", f"app/.wh.{number - 1}.jar": b""}) for number in range(count)]
    return tarred(docker(*layers))


def spread(count):
    return zipped({f"lib/{number}.jar": zipped({f"com/x{number}/A.class": CLASS}) for number in range(count)})


@pytest.mark.parametrize(
    ("make", "size"),
    [(merged, 40), (copies, 40), (scripts, 20), (dashes, 20), (deep, 50), (whiteouts, 10), (spread, 20)],
)
def test_the_work_for_an_archive_grows_with_its_bytes(make, size, tmp_path):
    def read(content):
        (tmp_path / "app").write_bytes(content)
        with Archives([tmp_path / "app"]):
            pass

    assert growth(read, make, size) < LINEAR


OBJECT = "(Ljava/lang/Object;)V"
ONE, FIRST = b"\x04", b"\x2a"
"""Instructions that give the number 1, and the first parameter."""


def call(written, argument, owner, name):
    """Return the instructions that call a static method."""
    return argument + bytes([INVOKESTATIC]) + u2(written.member(owner, name, OBJECT))


def calls_in_one_class(count):
    written = ClassBytes("A")
    for number in range(count):
        written.method(f"m{number}", OBJECT, call(written, ONE, "A", f"m{number}"), flags=STATIC)
    return {"A": written.bytes()}


def calls_of_one_name(count):
    """Methods with one name, each with its call; foreign code gets what they are given."""
    classes = {}
    for number in range(count):
        written = ClassBytes(f"A{number}")
        written.method("run", OBJECT, call(written, FIRST, "other/Library", "change"), flags=STATIC)
        classes[f"A{number}"] = written.method("main", code=call(written, ONE, f"A{number}", "run")).bytes()
    return classes


@pytest.mark.unmeasured
@pytest.mark.parametrize(("make", "size"), [(calls_in_one_class, 100), (calls_of_one_name, 200)])
def test_the_work_for_settings_in_code_grows_with_its_calls(make, size, monkeypatch):
    def spend(_, steps=1):
        for _ in range(steps):
            len("")

    monkeypatch.setattr(WorkLimit, "spend", spend)
    monkeypatch.setattr(WorkLimit, "note", spend)
    assert growth(settings_in_code, make, size) < LINEAR


def chain(count):
    """Each class extends the one before it, and calls a method that none of them has."""
    return {
        f"A{number}": ClassBytes(f"A{number}", f"A{number - 1}").calls(f"A{number}", "x", opcode=INVOKESTATIC).bytes()
        for number in range(count)
    }


def test_supertypes_of_supertypes_are_work(monkeypatch):
    assert not settings_in_code(chain(40)).not_followed
    monkeypatch.setattr(own_methods, "MAX_NAMES", 400)

    assert settings_in_code(chain(40)).not_followed
