"""The views of a database or a bundle, by SQL, as pandas frames, read-only.

    import assay.views
    with assay.views.open("assay.db") as db:
        frame = db.results(steady=True)
        best = db.query("SELECT workload, max(value) FROM results GROUP BY 1")
    assay.views.verify("assay.db")

It reads by Python's own SQLite: do not have a store of assay.open(write=True) open on the same file meanwhile, since
two copies of SQLite in one process do not see each other's locks.

`python3 -m assay.views parquet DATABASE FOLDER [VIEW]...` writes views as Parquet, `... verify FILE` runs the second
verifier.
"""

from __future__ import annotations

import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, Union

from ._native import Error, program

if TYPE_CHECKING:
    import pandas

__all__ = ["Database", "Error", "open", "open_bundle", "verify"]

Path = Union[str, "os.PathLike[str]"]
STEADY = ("steady", "after_warmup", "after_slowdown")  # verdicts whose value is a headline


class Database:
    """A database of assay. Nothing that is done here can change the file."""

    def __init__(self, path: Path) -> None:
        self.path = pathlib.Path(path)
        if not self.path.is_file():
            raise Error(f"{self.path}: there is no such file")
        uri = f"{self.path.resolve().as_uri()}?mode=ro"
        self._connection = sqlite3.connect(uri, uri=True)
        try:
            self.views: tuple[str, ...] = tuple(
                name for (name,) in self._connection.execute(
                    "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name"))
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise Error(f"{self.path}: {error}") from error
        if "results" not in self.views or "metrics" not in self.views:
            self._connection.close()
            raise Error(f"{self.path}: is no database of assay")

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def query(self, sql: str, parameters: Any = ()) -> pandas.DataFrame:
        """Any SELECT as a frame; `parameters` as of sqlite3, a tuple or a mapping."""
        import pandas

        return pandas.read_sql_query(sql, self._connection, params=parameters)

    def view(self, name: str) -> pandas.DataFrame:
        """A view as a frame: `views` has their names, results/store/README.md what a row of each is."""
        if name not in self.views:
            raise Error(f"there is no view {name}; choose from {', '.join(self.views)}")
        return self.query(f'SELECT * FROM "{name}"')

    def results(self, steady: bool = False) -> pandas.DataFrame:
        """The headline value of each result; `steady`: of those alone that were measured here and settled."""
        frame = self.view("results")
        return frame[frame["verdict"].isin(STEADY) & frame["imported"].isna()] if steady else frame

    def metrics(self) -> pandas.DataFrame:
        """Every metric of every result, a row each."""
        return self.view("metrics")

    def samples(self, trial: int, series: str = "wall_ns") -> pandas.DataFrame:
        """Raw samples of a trial, warmup included: `number`, `value`, `warmup`."""
        return self.query(
            "SELECT s.number, s.value, s.number < t.window_first AS warmup FROM samples s"
            " JOIN trials t USING (trial) WHERE s.trial = ? AND s.series = ? ORDER BY s.number",
            (trial, series))

    def parquet(self, folder: Path, views: Optional[tuple[str, ...]] = None) -> list[pathlib.Path]:
        """Writes views as FOLDER/VIEW.parquet, by DuckDB; without `views` all but the raw samples."""
        try:
            import duckdb
        except ImportError as error:
            raise Error("Parquet is written by DuckDB: pip install duckdb") from error
        target = pathlib.Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        written = []
        for name in views or tuple(view for view in self.views if view != "samples"):
            frame = self.view(name)  # noqa: F841: DuckDB finds it by its name
            path = target / f"{name}.parquet"
            with duckdb.connect() as memory:
                memory.execute(f"COPY (SELECT * FROM frame) TO '{_quoted(path)}' (FORMAT parquet)")
            written.append(path)
        return written


def _quoted(path: pathlib.Path) -> str:
    return str(path).replace("'", "''")


def open(path: Path) -> Database:  # noqa: A001: as gzip.open
    """A database; Error where it is none."""
    return Database(path)


class _Bundle(Database):
    """A bundle, imported into a database that is removed with it."""

    def __init__(self, folder: tempfile.TemporaryDirectory[str], path: Path) -> None:
        self._folder = folder
        super().__init__(path)

    def close(self) -> None:
        super().close()
        self._folder.cleanup()


def open_bundle(path: Path, assay: Optional[Path] = None) -> Database:
    """A bundle as a database. The program (default: the one of this package) verifies it; Error where it fails."""
    folder = tempfile.TemporaryDirectory(prefix="assay-views-")
    database = pathlib.Path(folder.name) / "bundle.db"
    try:
        done = subprocess.run([assay or program(), "import", "--format", "bundle", "--db", str(database), "--",
                               str(path)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Error(done.stderr.strip() or f"{assay} ended with {done.returncode}")
        return _Bundle(folder, database)
    except OSError as error:
        folder.cleanup()
        raise Error(f"{assay}: {error}; `assay` names the program") from error
    except Error:
        folder.cleanup()
        raise


def verify(path: Path, source: Optional[Path] = None) -> list[str]:
    """What the second verifier finds wrong in a database or bundle; empty where it holds.

    It is tests/support/verify.py of assay's source, written from the format's text alone. `source` is that
    source's folder (default: $ASSAY_SOURCE, else the one that this package lies in).
    """
    root = pathlib.Path(source or os.environ.get("ASSAY_SOURCE") or pathlib.Path(__file__).parents[3])
    verifier = root / "tests" / "support" / "verify.py"
    if not verifier.is_file():
        raise Error(f"{verifier}: the second verifier is not there; set ASSAY_SOURCE to assay's source")
    done = subprocess.run([sys.executable, str(verifier), str(path)], capture_output=True, text=True,
                          check=False)
    found = [line for line in done.stdout.splitlines() if re.match("wrong: ", line)]
    if done.returncode not in (0, 1) or (done.returncode == 1) != bool(found):
        raise Error(f"{path}: the verifier ended with {done.returncode}: {done.stderr.strip()}")
    return found


def _main(words: list[str]) -> int:
    try:
        if len(words) >= 3 and words[0] == "parquet":
            with open(words[1]) as database:
                for path in database.parquet(words[2], tuple(words[3:]) or None):
                    print(path)
            return 0
        if len(words) == 2 and words[0] == "verify":
            found = verify(words[1])
            print("\n".join(found) or "verified")
            return 1 if found else 0
    except Error as error:
        print(f"assay.views: {error}", file=sys.stderr)
        return 4
    print("usage: python3 -m assay.views parquet DATABASE FOLDER [VIEW]... | verify FILE", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
