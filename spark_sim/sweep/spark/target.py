"""Where Spark writes the tables of an audit, or of a comparison, in a format of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from streams_assignor.spark_sim.jobs.table import Table
from streams_assignor.spark_sim.sweep.spark.executor import one_line_of_spark
from streams_assignor.spark_sim.sweep.spark.paths import folder_uri
from streams_assignor.spark_sim.sweep.spark.tables import SparkTables
from streams_assignor.spark_sim.sweep.tables.parquet import table_files


@frozen
class SparkTarget:
    """Tables that were made as Parquet on this machine, and are to be in another format."""

    engine: Any
    shown: str
    """The user's name of the place."""
    uri: str | None
    """The URI; None of a folder of this machine."""
    folder: Path
    """The folder of the results, if it is one."""
    storage_format: str
    tables: Sequence[Table]
    moved: Sequence[str]
    """The results that are moved to their place from a draft; the others Spark writes there."""

    def __attrs_post_init__(self) -> None:
        """Look whether Spark can write there.

        Raises:
            ResultFolderError: It does not know the format, or something else is there.
        """
        with one_line_of_spark(self.shown):
            self._at(self.folder).present(self.tables)

    def _at(self, folder: Path) -> SparkTables:
        return SparkTables(self.engine.spark, self.uri or folder_uri(folder), self.storage_format)

    def write(self, new: Path, scratch: Path) -> None:
        """Write the tables of new results.

        Raises:
            ResultFolderError: Spark cannot write them.
        """
        for table in self.tables:
            if (new / table.name).exists():
                (new / table.name).rename(scratch / table.name)
        with one_line_of_spark(self.shown):
            for table in self.tables:
                place = self._at(new if table.name in self.moved else self.folder)
                if files := table_files(scratch / table.name):
                    place.copy(table, files)
