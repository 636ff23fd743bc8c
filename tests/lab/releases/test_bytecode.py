"""Differences between classes, as far as they are differences of the code."""

import pytest

from tests.lab.releases.bytecode import CLASSES, class_changes, members_of

METHOD = [
    "  private int f(int);",
    "    Code:",
    "       0: iload_1",
    "       1: ifle          9",
    "       4: ldc           #7                  // String one",
    "       6: invokedynamic #31,  0             // InvokeDynamic #2:apply:()V",
    "       9: tableswitch   { // 1 to 2",
    "                     1: 36",
    "               default: 40",
    "          }",
    "      12: sipush        1000",
    "    Exception table:",
    "       from    to  target type",
    "           0     9    12   Class java/lang/Exception",
]


def methods(*replaced):
    text = "\n".join(METHOD)
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    return members_of(text.splitlines())


@pytest.mark.parametrize(
    "same",
    [
        ("#7 ", "#700 "),
        ("ldc  ", "ldc_w"),
        ("ifle          9", "ifle          12"),
        ("1: 36", "1: 48"),
        ("#31,", "#14,"),
        ("InvokeDynamic #2:", "InvokeDynamic #9:"),
        ("0     9    12 ", "0    11    14 "),
    ],
)
def test_what_a_compiler_chooses_is_no_difference(same):
    assert methods() == methods(same)


@pytest.mark.parametrize(
    "other",
    [
        ("ifle ", "ifgt "),
        ("String one", "String two"),
        ("1000", "1001"),
        ("                     1: 36", "                     3: 36"),
        ("lang/Exception", "io/IOException"),
        ("f(int)", "f(long)"),
        (":apply:", ":accept:"),
    ],
)
def test_what_a_method_does_is_a_difference(other):
    assert methods() != methods(other)


def test_a_lambda_may_have_another_number():
    first, second = (members_of([f"  private void lambda$f${number}();", "       0: return"]) for number in (3, 14))

    assert first == second


def test_lambdas_of_one_method_are_all_compared():
    lines = ["  void lambda$f$0();", "       0: return", "  void lambda$f$1();", "       0: iconst_0"]
    other = [line.replace("iconst_0", "iconst_1") for line in lines]

    assert members_of(lines) != members_of(other)


def test_the_classes_of_every_generation_of_assignors_are_compared():
    internals = "org/apache/kafka/streams/processor/internals"
    compared = ["StreamPartitionAssignor", "StreamsPartitionAssignor$1", "assignment/AssignmentInfo"]

    assert all(CLASSES.fullmatch(f"{internals}/{name}.class") for name in compared)
    assert not CLASSES.fullmatch(f"{internals}/StreamThread.class")
    assert CLASSES.fullmatch("org/apache/kafka/coordinator/group/streams/CurrentAssignmentBuilder.class")


def test_a_class_that_moved_to_another_package_is_no_difference():
    old = [
        "  void f(org.apache.kafka.common.utils.LogContext);",
        "       0: invokevirtual #3 // Method org/apache/kafka/common/utils/LogContext.g:(Lorg/apache/kafka/Uuid;)V",
    ]
    moved = [line.replace("common/utils", "log/internals").replace("common.utils", "log.internals") for line in old]

    assert members_of(old) == members_of(moved)
    assert members_of(old) != members_of([line.replace("LogContext", "LogContexts") for line in old])


def test_a_class_that_only_one_release_has_is_a_change():
    changes = class_changes({"A": {}}, {"B": {}}, ("4.2.1", "4.2.2"))

    assert [("A", "4.2.1"), ("B", "4.2.2")] == [(change.name, change.only_in) for change in changes]
