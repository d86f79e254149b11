"""CSV and its relatives, gzipped or not: a fast reader, and an exact one for what is odd."""

from core.store.formats.base import Format
from core.store.formats.csv.reader import CsvSource

FORMATS = (
    Format(
        "csv",
        "CSV (also gzipped)",
        (".csv", ".tsv", ".txt", ".gz"),
        lambda _start: True,
        lambda start: start.opened(CsvSource.open),
        "execution,timestamp,cpu_cores,memory_bytes\n"
        + "".join(f"a,{10 * i},0.{i},{1000 + i}\n" for i in range(6)),
    ),
)
