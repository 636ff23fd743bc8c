"""A thousand hostile inputs, read by Kafka's classes and by the codec: only documented differences."""

import pytest

from tests.lab.fuzz import kafka
from tests.lab.integration.kafka_jars import Unavailable
from tests.matrix import with_matrix

pytestmark = [pytest.mark.java, pytest.mark.slow]


@pytest.mark.parametrize("release", with_matrix(["2.8.2", "4.3.1"], ["4.3.1"], "an older release"))
def test_kafka_and_the_codec_differ_on_hostile_bytes_only_where_documented(release: str) -> None:
    try:
        found, examples = kafka.differences(release, 1_000)
    except Unavailable as missing:
        pytest.skip(f"no codec of Kafka Streams {release}: {missing}")

    unknown = {what: examples[what] for _, what in found if what not in kafka.KNOWN}
    assert not unknown
    assert 1_000 == found.total()
