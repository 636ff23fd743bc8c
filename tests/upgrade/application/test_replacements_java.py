"""The new numbers of unnamed stores and internal topics, with the release that has both forms."""

from pathlib import Path

import pytest

from streams_assignor.upgrade.application.replacements import NUMBERS_KEPT, replacement
from tests.upgrade.java_program import jars_of, lines_of

pytestmark = [pytest.mark.java, pytest.mark.slow]

SOURCE = Path(__file__).parent / "java" / "Numbers.java"
KSTREAM = "org.apache.kafka.streams.kstream.KStream#"
PAIRS = {
    f"{KSTREAM}through(String)": ("through", "to"),
    f"{KSTREAM}transformValues(ValueTransformerSupplier, String[])": ("transformValues", "processValues"),
    f"{KSTREAM}transform(TransformerSupplier, String[])": ("transform", "process"),
    f"{KSTREAM}process(ProcessorSupplier, String[])": ("old process", "new process"),
    f"{KSTREAM}branch(Predicate[])": ("branch", "split"),
    "org.apache.kafka.streams.kstream.TimeWindows#of(Duration)": ("of", "ofSizeWithNoGrace"),
    "org.apache.kafka.streams.kstream.KTable#join(KTable, Function, ValueJoiner, Named)": ("Named", "TableJoined"),
}


@pytest.fixture(scope="module")
def names():
    lines = lines_of(SOURCE, jars_of("3.9.2"), compiled_with="3.9.2")
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.parametrize("member", PAIRS)
def test_the_numbers_stay_where_the_table_says_so(names, member):
    before, after = (names[each] for each in PAIRS[member])

    assert NUMBERS_KEPT in replacement(member).numbers
    assert before == after


def test_repartition_takes_two_numbers_more_than_through(names):
    assert "KSTREAM-AGGREGATE-STATE-STORE-0000000003" in names["through"]
    assert "KSTREAM-AGGREGATE-STATE-STORE-0000000005" in names["repartition"]
