"""The job of ``streams-assignor audit``: sources of records, partitions in parallel, tables, summary and report."""
