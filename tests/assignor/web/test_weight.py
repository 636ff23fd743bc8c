"""What a visit of the page costs."""

import pytest

from tests.assignor.web.measure import transfer

pytestmark = pytest.mark.slow


def test_all_files_of_the_site_are_at_most_8_mb(files):
    assert transfer(files) <= 8_000_000
