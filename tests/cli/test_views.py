"""Every query of results/VIEWS.md, run verbatim, against what assay itself reports."""

import contextlib
import lzma
import os
import re
import shutil
import sqlite3
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import SETTLED, CliTest, run_tests  # noqa: E402

PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "results", "VIEWS.md")
RELEASE = os.path.join(os.path.dirname(__file__), "..", "data", "releases", "0.2.0", "results.db.xz")


def blocks():
    """{name: text} of the page's code blocks; each begins with a comment "program: name"."""
    with open(PAGE, encoding="utf-8") as file:
        found = re.findall(r"```(?:sql|python)\n(?:--|#) (\w+: \w+)\n(.*?)```", file.read(), re.S)
    return dict(found)


class Views(CliTest):
    def setUp(self):
        super().setUp()
        self.run_settled()
        once = self.write("once", "")
        call = self.run_synthetic("--json", ASSAY_NULL="launch_ns=200000,seed=1,fault=crash@5,"
                                  f"once={once}")
        self.assertEqual(call.status, 1, call.err)
        self.run_synthetic()
        self.rows = self.assay("results", "--json", "--db", self.db).json()
        self.records = [self.assay("show", row["id"], "--json", "--db", self.db).json()
                        for row in self.rows]

    def ask(self, name):
        with contextlib.closing(sqlite3.connect(f"file:{self.db}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(blocks()[name])]

    def test_the_page_has_one_of_each(self):
        self.assertEqual({name.split(":")[0] for name in blocks()},
                         {"datasette", "duckdb", "grafana", "pandas"})

    def test_datasette(self):
        (row,) = self.ask("datasette: failed_trials")
        failed = [(record["id"], trial) for record in self.records for trial in record["trials"]
                  if trial["status"] != "ok"]
        ((result, trial),) = failed
        self.assertEqual((row["result"], row["status"], row["message"], row["sequence"]),
                         (result, trial["status"], trial["message"], trial["sequence"]))
        self.assertEqual(row["started_at"].replace(" ", "T"), trial["started"][:19])

    def test_archived_are_left_out(self):
        """As the commands do, after archiving and after restoring."""
        def both():
            rows = self.assay("results", "--json", "--limit", "99", "--db", self.db).json()
            self.assertEqual([row["result"] for row in self.ask("datasette: not_archived")],
                             sorted(row["id"] for row in rows))
            return len(rows)

        everything = both()
        campaign = self.rows[0]["id"].split("/")[0]
        for words, less in ((("--reason", "a trial run"), True), (("--undo", "--reason", "it counts after all"), False)):
            call = self.assay("archive", campaign, *words, "--db", self.db)
            self.assertEqual(call.status, 0, call.err)
            self.assertEqual(both() < everything, less)

    def test_grafana(self):
        rows = self.ask("grafana: rate_over_time")
        expected = sorted((int(row["created_utc_ns"]), row["value"]) for row in self.rows
                          if row["value"] is not None and row["verdict"] in SETTLED)
        self.assertTrue(expected)
        self.assertEqual([row["value"] for row in rows], [rate for _, rate in expected])
        for row, (created, _) in zip(rows, expected):
            self.assertAlmostEqual(row["time"], created / 1e9, places=3)
            self.assertEqual(row["metric"], f"{self.rows[0]['device']} fp32")

    def check_means(self, rows):
        expected = []
        for record in self.records:
            text = self.assay("show", record["id"], "--series", "--db", self.db).out.splitlines()
            for trial in record["trials"]:
                if trial["status"] != "ok":
                    continue
                values = [int(line.split(",")[2]) for line in text[1:]
                          if line.split(",")[1] == str(trial["sequence"])]
                self.assertEqual(len(values), trial["samples"])
                expected.append((trial["id"], record["id"],
                                 statistics.fmean(values[trial["window_first"]:])
                                 / trial["iterations_per_sample"]))
        expected.sort()
        self.assertEqual([(row["trial"], row["result"]) for row in rows],
                         [(trial, result) for trial, result, _ in expected])
        for row, (_, _, mean) in zip(rows, expected):
            self.assertAlmostEqual(row["mean_ns"] / mean, 1, places=9)

    def test_pandas_query(self):
        code = blocks()["pandas: steady_means"]
        call = re.search(r"read_sql\(\n(.*?),\n        connection\)", code, re.S)
        sql = "".join(re.findall(r'"([^"]*)"', call[1]))
        with contextlib.closing(sqlite3.connect(f"file:{self.db}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            self.check_means([dict(row) for row in db.execute(sql)])

    def test_pandas_itself(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("no pandas (package python3-pandas)")
        names = {}
        code = blocks()["pandas: steady_means"].replace("file:results.db", f"file:{self.db}")
        exec(code, names)  # the page's own block
        self.check_means(names["frame"].to_dict("records"))

    def check_stack(self, rows):
        expected = {}
        for record in self.records:
            for trial in record["trials"]:
                for file in trial["components"]:
                    if file["at"] == "window_start":
                        key = (record["id"], file["path"], file["version"], file["sha256"])
                        expected[key] = expected.get(key, 0) + 1
        self.assertTrue(expected)
        self.assertEqual({tuple(row[:4]): row[4] for row in rows}, expected)

    def test_duckdb_query(self):
        self.check_stack([tuple(row.values()) for row in self.ask("duckdb: stack_of_result")])

    def duckdb(self):
        try:
            import duckdb
        except ImportError:
            self.skipTest("no duckdb")
        return duckdb, duckdb.connect()

    def attached(self):
        duckdb, connection = self.duckdb()
        try:
            connection.execute(f"ATTACH '{self.db}' AS r (TYPE sqlite); USE r")
        except duckdb.Error as error:
            self.skipTest(f"duckdb's sqlite extension is not there: {error}")
        return connection

    def test_duckdb_itself(self):
        connection = self.attached()
        self.check_stack(connection.execute(blocks()["duckdb: stack_of_result"]).fetchall())

    def check_rates(self, rows):
        expected = sorted((row["id"], row["workload"], row["device"], row["value"],
                           row["unit"]) for row in self.rows if row["value"] is not None and row["verdict"] in SETTLED)
        self.assertTrue(expected)
        self.assertEqual([row[:3] + row[4:] for row in rows],
                         [row[:3] + row[4:] for row in expected])
        for row, other in zip(rows, expected):
            self.assertAlmostEqual(row[3] / other[3], 1, places=9)

    def test_duckdb_rates(self):
        connection = self.attached()
        self.check_rates(connection.execute(blocks()["duckdb: rates"]).fetchall())

    def test_duckdb_lets_sqlite_answer(self):
        connection = self.attached()
        failed = [(record["id"], trial["sequence"], trial["message"]) for record in self.records
                  for trial in record["trials"] if trial["status"] != "ok"]
        self.assertEqual(connection.execute(blocks()["duckdb: failed_by_sqlite"]).fetchall(), failed)

    def test_duckdb_reads_every_view(self):
        """By itself: as many rows as SQLite finds, and in numbers what SQLite has as numbers."""
        self.assertEqual(self.run_synthetic("--doctor").status, 0)
        connection = self.attached()
        views = [name for (name,) in self.query("SELECT name FROM sqlite_master WHERE type = 'view'")]
        self.assertGreater(len(views), 20)
        for view in views:
            with self.subTest(view=view):
                rows = connection.execute(f"SELECT * FROM {view}").fetchall()
                self.assertEqual(len(rows), self.query(f"SELECT count(*) FROM {view}")[0][0])
        for view, columns in {"results": "value, lo, metric, grade, trials_ok, workload, device",
                              "estimates": "estimate, iteration_ns, iteration_ns_lo, verdict",
                              "metrics": "result, metric, value, lo, unit, grade",
                              "result_findings": "result, code, trial_number, subject",
                              "sensors": "trial, channel, series, samples",
                              "findings": 'campaign, "at", "check", severity'}.items():
            sql = f"SELECT {columns} FROM {view} ORDER BY 1, 2, 3"
            self.assertEqual(connection.execute(sql).fetchall(), self.query(sql), view)

    def test_duckdb_without_its_extension(self):
        _, connection = self.duckdb()
        table = os.path.join(self.folder, "results.csv")
        self.assertEqual(self.assay("export", "csv", "-o", table, "--db", self.db).status, 0)
        sql = blocks()["duckdb: rates_exported"].replace("results.csv", table)
        self.check_rates(connection.execute(sql).fetchall())


class Archived(CliTest):
    """The column `archived`, in a file that has rows for every view; it began with views that had none."""

    def setUp(self):
        super().setUp()
        with lzma.open(RELEASE) as packed, open(self.db, "wb") as file:
            shutil.copyfileobj(packed, file)
        self.assertEqual(self.run_synthetic("--doctor").status, 0)
        self.uids = [uid for (uid,) in self.query("SELECT uid FROM campaign ORDER BY id")]

    def of_campaigns(self):
        """{view: its rows} of all views that read a table from which references lead to a campaign."""
        with contextlib.closing(sqlite3.connect(self.db)) as db:
            db.row_factory = sqlite3.Row
            names = {kind: [name for name, in db.execute("SELECT name FROM sqlite_schema WHERE type = ?", (kind,))]
                     for kind in ("table", "view")}
            refers = {name: {row["table"] for row in db.execute(f"PRAGMA foreign_key_list({name})")}
                      for name in names["table"]}
            leading, more = set(), {"campaign"}
            while more:
                leading |= more
                more = {name for name in refers if refers[name] & leading} - leading
            read = set()
            db.set_authorizer(lambda action, table, *_: (action == sqlite3.SQLITE_READ and read.add(table))
                              or sqlite3.SQLITE_OK)
            found = {}
            for view in names["view"]:
                read.clear()
                rows = db.execute(f"SELECT * FROM {view}").fetchall()
                if read & leading:
                    found[view] = [dict(row) for row in rows]
        return found

    def assert_archived(self, *uids):
        """In every row of every such view; what is of no campaign is not archived."""
        owners = {None: None, **{uid: uid for uid in self.uids}, **{uid[:8]: uid for uid in self.uids},
                  **dict(self.query("SELECT id, uid FROM campaign"))}
        trials = dict(self.query("SELECT t.id, g.uid FROM trial t JOIN campaign g ON g.id = t.campaign"))
        for view, rows in self.of_campaigns().items():
            self.assertTrue(rows, view)
            for row in rows:
                self.assertEqual(list(row)[-1], "archived", view)
                owner = owners[row["campaign"]] if "campaign" in row else \
                    owners[row["result"].split("/")[0]] if "result" in row else trials[row["trial"]]
                self.assertEqual(row["archived"], int(owner in uids), (view, row))

    def test_every_view_of_a_campaign(self):
        (before,) = (uid for uid, event in self.query("SELECT uid, state FROM campaigns") if event == "archived")
        self.assertGreater(len(self.of_campaigns()), 20)
        self.assert_archived(before)
        for words, archived in (((before, "--undo"), ()), ((self.uids[0],), self.uids[:1]),
                                (self.uids[1:], self.uids), ((*self.uids, "--undo"), ())):
            call = self.assay("archive", *words, "--reason", "x", "--db", self.db)
            self.assertEqual(call.status, 0, call.err)
            self.assert_archived(*archived)


if __name__ == "__main__":
    run_tests()
