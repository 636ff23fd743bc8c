"""The calls that read the environment, from a disassembly."""

import json

import pytest

from tests.lab.releases.environment_tables import EnvironmentRead, environment_text, reads_of

CLASS = """"A.java"
public class org.apache.kafka.A {{
{}
}}
"""
METHOD = """\
  {};
    descriptor: {}
    Code:
{}
"""
GET = "invokestatic #1 // Method java/lang/System.getProperty:(Ljava/lang/String;)Ljava/lang/String;"
GET_OR = (
    "invokestatic #2 // Method java/lang/System.getProperty:(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;"
)
TWO = "(Ljava/lang/String;Ljava/lang/String;)V"


def reads(*methods):
    texts = [
        METHOD.format(head, descriptor, "\n".join(f"     {at}: {line}" for at, line in enumerate(code)))
        for head, descriptor, *code in methods
    ]
    return [(each.is_property, each.name, each.default) for each in reads_of(CLASS.format("".join(texts)))]


def test_a_constant_before_the_call_is_its_name():
    code = ["ldc #3 // String a.b", GET, "ldc_w #4 // String it\\'s", "ldc #5 // String ", GET_OR]

    assert [(True, "a.b", None), (True, "it's", "")] == reads(("void run()", "()V", *code))


def test_a_parameter_is_what_the_callers_in_the_class_give():
    call = [f"ldc #{at} // String {text}" for at, text in ((3, "URL"), (4, "a.urls"), (5, ""))]
    reader = ("private void read(java.lang.String)", TWO, "aload_2", "aload 3", GET_OR)
    static = ("static void read(java.lang.String)", TWO, "aload_0", "aload_1", GET_OR)

    assert [(True, "a.urls", "")] == reads(
        ("private void read(java.lang.String)", TWO, "aload_1", "aload 2", GET_OR),
        ("void run()", "()V", "aload_0", *call[1:], f"invokevirtual #9 // Method read:{TWO}"),
    )
    assert [(True, "a.urls", "")] == reads(
        static, ("void run()", "()V", *call[1:], f"invokestatic #9 // Method read:{TWO}")
    )
    assert [] == reads(reader)


def test_all_variables_have_no_name():
    getenv = "invokestatic #1 // Method java/lang/System.getenv:()Ljava/util/Map;"
    one = "invokestatic #1 // Method java/lang/System.getenv:(Ljava/lang/String;)Ljava/lang/String;"

    assert [(False, "*", None), (False, "HOME", None)] == reads(
        ("java.util.Map all()", "()V", getenv, "ldc #2 // String HOME", one)
    )


def test_a_name_that_is_computed_is_an_error():
    with pytest.raises(ValueError, match=r"org\.apache\.kafka\.A#run reads"):
        reads(("void run()", "()V", "aload_0", "invokevirtual #1 // Method name:()Ljava/lang/String;", GET))


def test_a_row_is_stored_once_for_all_releases_that_have_it():
    reads = {EnvironmentRead("B", True, "a", "1"), EnvironmentRead("A", True, "a", None)}
    stored = json.loads(environment_text({"1.0": reads, "1.1": reads}, ["1.0", "1.1", "1.2"]))

    assert {"properties": {"a": {"0-1": {"defaults": ["1"], "readers": ["A", "B"]}}}, "variables": {}} == stored
