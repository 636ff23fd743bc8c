"""Keep what a finished sweep of all releases found: `python docs/upgrade_matrix.py DIR`, then `python docs/tables.py`.

DIR is that of `streams-assignor sweep --matrix all --out DIR`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from streams_assignor.spark_sim.sweep.report._guide_tables import guide_summary
from streams_assignor.spark_sim.sweep.suites import read_sweep

KEPT = Path(__file__).parent / "reference" / "upgrade-matrix.json"

if __name__ == "__main__":
    found = guide_summary(read_sweep(Path(sys.argv[1])).results)
    KEPT.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
