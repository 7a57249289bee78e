"""Views in Python: frames against what assay itself reports, read-only, and the second verifier."""

import os
import shutil
import sqlite3
import subprocess
import sys
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
sys.path.insert(0, os.path.join(ROOT, "results", "python"))
from assay import views  # noqa: E402
from assay_cli import CliTest, run_tests  # noqa: E402


def needs(module):
    try:
        __import__(module)
        return lambda test: test
    except ImportError:
        return unittest.skip(f"no {module} (pip install {module})")


class Python(CliTest):
    def open(self):
        db = views.open(self.db)
        self.addCleanup(db.close)
        return db

    def test_what_is_no_database_is_refused(self):
        for path in (self.write("text", "no database" * 100), os.path.join(self.folder, "nowhere")):
            with self.assertRaises(views.Error):
                views.open(path)
        other = os.path.join(self.folder, "other.db")
        with sqlite3.connect(other) as db:
            db.execute("CREATE TABLE t (x)")
        with self.assertRaisesRegex(views.Error, "no database of assay"):
            views.open(other)

    def test_verify_by_the_second_verifier(self):
        self.run_synthetic()
        self.assertEqual(views.verify(self.db), [])
        with sqlite3.connect(self.db) as db:
            for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
                db.execute(f'DROP TRIGGER "{name}"')
            db.execute("UPDATE cell SET workload_name = 'another'")
        self.assertTrue(views.verify(self.db))
        with self.assertRaises(views.Error):
            views.verify(os.path.join(self.folder, "nowhere"))
        with self.assertRaisesRegex(views.Error, "ASSAY_SOURCE"):
            views.verify(self.db, source=self.folder)

    def test_it_writes_nothing(self):
        self.run_synthetic()
        db = self.open()
        self.assertIn("results", db.views)
        with self.assertRaises(sqlite3.OperationalError):
            db._connection.execute("DELETE FROM cell")

    def test_bundle_that_does_not_hold(self):
        self.run_synthetic()
        bundle = os.path.join(self.folder, "r.assay")
        self.assertEqual(self.assay("bundle", "last", "-o", bundle, "--db", self.db).status, 0)
        self.assertEqual(views.verify(bundle), [])
        with views.open_bundle(bundle, assay=os.environ["ASSAY"]) as db:
            path = db.path
            self.assertTrue(path.exists())
        self.assertFalse(path.exists())
        with open(bundle, encoding="utf-8") as file:
            text = file.read()
        with open(bundle, "w", encoding="utf-8") as file:
            file.write(text.replace('"synthetic"', '"syntheticc"'))
        with self.assertRaises(views.Error):
            views.open_bundle(bundle, assay=os.environ["ASSAY"])

    @needs("pandas")
    def test_frames(self):
        row = self.run_settled()
        db = self.open()
        rows = self.assay("results", "--json", "--db", self.db).json()
        frame = db.results()
        self.assertEqual(sorted(frame["result"]), sorted(one["id"] for one in rows))
        (steady,) = db.results(steady=True).to_dict("records")
        self.assertEqual(steady["result"], row["id"])
        self.assertAlmostEqual(steady["value"] / row["value"], 1, places=12)
        self.assertEqual(set(db.metrics()["result"]), {row["id"]})
        trial = int(db.view("trials")["trial"].min())
        samples = db.samples(trial)
        index = self.query("SELECT samples FROM samples_index WHERE trial = ? AND series = 'wall_ns'", trial)
        self.assertEqual(len(samples), index[0][0])
        window = self.query("SELECT window_first FROM trials WHERE trial = ?", trial)
        self.assertEqual(int(samples["warmup"].sum()), window[0][0])
        with self.assertRaisesRegex(views.Error, "no view nonsense"):
            db.view("nonsense")

    @needs("pandas")
    @needs("duckdb")
    def test_parquet(self):
        import duckdb

        self.run_settled()
        folder = os.path.join(self.folder, "it's parquet")
        done = subprocess.run([sys.executable, "-m", "assay.views", "parquet", self.db, folder],
                              env=dict(os.environ, PYTHONPATH=os.path.join(ROOT, "results", "python")),
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        names = {name[:-8] for name in os.listdir(folder)}
        self.assertEqual(names, set(self.open().views) - {"samples"})
        path = os.path.join(folder, "metrics.parquet").replace("'", "''")
        rows = duckdb.connect().execute(f"SELECT result, metric, value FROM '{path}' ORDER BY 1, 2").fetchall()
        self.assertEqual([tuple(row) for row in rows],
                         self.query("SELECT result, metric, value FROM metrics ORDER BY 1, 2"))

    def test_types(self):
        mypy = shutil.which("mypy")
        if not mypy:
            self.skipTest("no mypy")
        done = subprocess.run([mypy, "--strict", "--ignore-missing-imports", "--cache-dir", self.folder,
                               os.path.join(ROOT, "results", "python", "assay")],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    run_tests()
