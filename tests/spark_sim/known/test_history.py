"""What is kept of a search through history, and the table made of it."""

import json

from spark_sim.known import history
from spark_sim.known.bugs import BUGS


def test_it_is_kept_and_shown(tmp_path, monkeypatch):
    monkeypatch.setattr("spark_sim.known.finding.BUGS", [bug for bug in BUGS if bug.name in {"B1", "B14", "B19"}])
    heard = []
    results = history.history(steps=1, on_found=heard.append)
    kept = json.loads(history.write(results, tmp_path).read_text())
    rows = {row[0].split(":")[0]: row for row in history.rows(kept)}

    assert results == heard
    assert [True, False] * 3 == [each["found"] for each in kept]
    assert "2,712 schedules" in rows["B1"][4]
    assert "does not start" in rows["B14"][4]
    assert "`A@2.6.0 B@2.6.0 | bounce fast A>2.6.0`" == rows["B19"][6]
    assert len(rows) == 3
