"""The table of supported KIPs: the evidence of each row exists, and names its KIP."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in (ROOT / "docs/reference/kips.md").read_text().splitlines()
    if re.match(r"\| KIP-", line)
]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_files_of_a_row_exist_and_name_its_kip(row):
    number, _, _, implemented, checked = row
    paths = [ROOT / path for path in re.findall(r"`([\w/.]+)`", f"{implemented} {checked}")]
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))]
    text = "".join(file.read_text() for file in files)

    assert [] == [path for path in paths if not path.exists()]
    assert [] == [kip for kip in number.split(", ") if not re.search(rf"{kip}\b", text)]
    assert "`tests/" in checked


def test_each_kip_has_one_row():
    numbers = [kip for row in ROWS for kip in row[0].split(", ")]

    assert len(numbers) == len({*numbers}) > 15
