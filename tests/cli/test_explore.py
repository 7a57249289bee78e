"""What is shipped for Datasette and Grafana: every query on a database, every page in the real Datasette."""

import contextlib
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import PATIENCE, CliTest, run_tests  # noqa: E402

REPORTS = os.path.join(os.path.dirname(__file__), "..", "..", "reports")
METADATA = os.path.join(REPORTS, "datasette", "metadata.yaml")
DASHBOARD = os.path.join(REPORTS, "grafana", "dashboard.json")


def canned():
    """{name: sql} of the metadata, by its indentation: no reader of YAML is in Python's library."""
    with open(METADATA, encoding="utf-8") as file:
        text = file.read()
    found = re.findall(r"^ {6}(\w+):\n((?: {8}.*\n)+)", text, re.M)
    queries = {}
    for name, body in found:
        (sql,) = re.findall(r"^ {8}sql: \|-\n((?: {10}.*(?:\n|$))+)", body, re.M)
        queries[name] = re.sub(r"^ {10}", "", sql, flags=re.M)
        params = re.findall(r"params: \[(.*)\]", body)
        declared = set(re.split(r", *", params[0])) if params else set()
        if declared != set(re.findall(r"(?<!:):(\w+)", queries[name])):
            raise AssertionError(f"{name}: its params are not those of its SQL")
    return queries


class Explore(CliTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.queries = canned()
        with open(DASHBOARD, encoding="utf-8") as file:
            cls.dashboard = json.load(file)

    def fill(self):
        """A database with a settled result, a crashed trial, and what the doctor said."""
        self.row = self.run_settled()
        once = self.write("once", "")
        call = self.run_synthetic("--doctor", ASSAY_NULL=f"launch_ns=200000,seed=1,fault=crash@5,once={once}")
        self.assertEqual(call.status, 1, call.err)
        trial = self.query("SELECT min(trial) FROM trials WHERE status = 'ok'")[0][0]
        self.arguments = {"workload": "synthetic", "result": self.row["id"], "trial": trial,
                          "a": self.row["id"], "b": "none/1"}

    def ask(self, sql, **arguments):
        with contextlib.closing(sqlite3.connect(f"file:{self.db}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute(sql, arguments)]

    def test_every_canned_query_runs(self):
        self.assertGreater(len(self.queries), 10)
        self.fill()
        rows = {name: self.ask(sql, **self.arguments) for name, sql in self.queries.items()}
        results = self.assay("results", "--json", "--db", self.db).json()
        self.assertEqual({row["result"] for row in rows["results_with_intervals"]},
                         {row["id"] for row in results})
        self.assertIn(self.row["id"], [row["result"] for row in rows["rate_over_time"]])
        self.assertIn(self.row["value"], [row["value"] for row in rows["batches"]])
        self.assertEqual({row["status"] for row in rows["failed_trials"]}, {"crashed"})
        self.assertTrue(rows["stack_of_result"])
        self.assertEqual({row["path"] for row in rows["stack_of_result"]},
                         {row["path"] for row in rows["stack_difference"]})
        index = self.query("SELECT samples FROM samples_index WHERE series = 'wall_ns' AND trial = ?",
                           self.arguments["trial"])
        self.assertEqual(len(rows["samples_of_trial"]), index[0][0])
        self.assertTrue(any(row["warmup"] for row in rows["samples_of_trial"]))
        self.assertTrue(all(row["largest_error"] is None or row["largest_error"] >= 0
                            for row in rows["precisions"]))

    def test_archived_are_left_out(self):
        self.fill()
        for words in (("--reason", "x"), ("--undo", "--reason", "y")):
            self.assertEqual(self.assay("archive", self.row["id"].split("/")[0], *words, "--db", self.db).status, 0)
            archived = int("--undo" not in words)
            rows = {name: [row for row in self.ask(self.queries[name], **self.arguments)
                           if row["result"] == self.row["id"]]
                    for name in ("results_with_intervals", "rate_over_time", "precisions", "batches")}
            self.assertEqual([row["archived"] for row in rows.pop("results_with_intervals")], [archived])
            self.assertEqual({name: len(found) for name, found in rows.items()}, dict.fromkeys(rows, 1 - archived))

    def test_every_query_of_the_dashboard_runs(self):
        texts = [target["rawQueryText"] for panel in self.dashboard["panels"] for target in panel["targets"]]
        texts += [variable["query"] for variable in self.dashboard["templating"]["list"]
                  if variable["type"] == "query"]
        self.assertGreater(len(texts), 9)
        self.fill()
        seen = {}
        for text in texts:
            sql = text.replace("$__from", "0").replace("$__to", str(10**14)).replace("$workload", "synthetic")
            self.assertNotIn("$", sql.replace("'$.", ""), text)
            seen[text] = self.ask(sql)
        series = [target for panel in self.dashboard["panels"] for target in panel["targets"]
                  if target["queryType"] == "time series"]
        self.assertTrue(series)
        rate = seen[series[0]["rawQueryText"]]
        self.assertIn(self.row["value"], [row["value"] for row in rate])
        for target in series:
            for row in seen[target["rawQueryText"]]:
                self.assertEqual(list(row), ["time", "metric", "value"])
                self.assertAlmostEqual(row["time"], time.time(), delta=86400)
        count = self.query("SELECT count(*) FROM results")[0][0]
        self.assertEqual(list(seen[texts[0]][0].values()), [count])

    def test_panels_do_not_overlap(self):
        taken = set()
        for panel in self.dashboard["panels"]:
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24)
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(taken & cells, panel["title"])
            taken |= cells

    def test_the_dashboard_is_grafanas(self):
        """Read by Grafana's own types (grafana-foundation-sdk) and written again: nothing is lost or another value."""
        try:
            from grafana_foundation_sdk.cog.encoder import JSONEncoder
            from grafana_foundation_sdk.cog.plugins import register_default_plugins
            from grafana_foundation_sdk.models.dashboard import Dashboard
        except ImportError:
            self.skipTest("no grafana-foundation-sdk (pip install grafana-foundation-sdk)")
        register_default_plugins()

        def lost(mine, theirs, path):
            if isinstance(mine, dict) and isinstance(theirs, dict):
                return [found for key in mine for found in
                        (lost(mine[key], theirs[key], f"{path}.{key}") if key in theirs else [f"{path}.{key}"])]
            if isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
                return [found for i, pair in enumerate(zip(mine, theirs)) for found in lost(*pair, f"{path}[{i}]")]
            return [] if mine == theirs else [path]

        def again(dashboard):
            return json.loads(json.dumps(Dashboard.from_json(dashboard), cls=JSONEncoder))

        self.assertEqual(lost(self.dashboard, again(self.dashboard), "$"), [])
        wrong = json.loads(json.dumps(self.dashboard))
        wrong["panels"][0]["gridPosition"] = wrong["panels"][0].pop("gridPos")
        self.assertEqual(lost(wrong, again(wrong), "$"), ["$.panels[0].gridPosition"])

    def decide(self):
        """A decision between the settled result, rented and bought."""
        self.write("prices.csv", "item,kind,currency,amount,unit,term_months\ncard,device,EUR,6000,each,48\n"
                   "card,cloud,EUR,0.5,hour,\n")
        path = self.write("decision.yaml", f"""decision: cards
version: 1
prices: prices.csv
assumptions: {{as_of: 2026-11-24}}
options:
  - {{name: bought, result: {self.row["id"]}, item: card, kind: device}}
  - {{name: rented, result: {self.row["id"]}, item: card, kind: cloud}}
objectives: [cost_per_1000_iterations]
""")
        call = self.assay("decide", path, "--db", self.db, "--json")
        self.assertIn(call.status, (0, 3), call.err)
        return call.json()

    def test_options_of_decisions(self):
        self.row = self.run_settled()
        made = self.decide()
        rows = self.ask(self.queries["options_of_decisions"])
        self.assertEqual([(row["option"], row["standing"], row["figure"], row["value"], row["unit"]) for row in rows],
                         [(option["name"], option["standing"], "cost_per_1000_iterations",
                           option["figures"][0]["value"], "EUR") for option in made["options"]])

    def test_the_real_datasette(self):
        program = os.environ.get("ASSAY_DATASETTE") or shutil.which("datasette")
        if not program:
            self.skipTest("no datasette (pip install datasette; ASSAY_DATASETTE names it)")
        self.fill()
        link = os.path.join(self.folder, "assay.db")
        os.symlink(self.db, link)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with subprocess.Popen([program, link, "--metadata", METADATA, "--port", str(port)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as server:
            try:
                self.look(f"http://127.0.0.1:{port}", server)
            finally:
                server.terminate()

    def look(self, root, server):
        def get(path):
            with urllib.request.urlopen(root + path, timeout=PATIENCE) as answer:
                return answer.read().decode()

        for _ in range(600):
            if server.poll() is not None:
                self.fail(server.stderr.read().decode())
            try:
                get("/-/versions.json")
                break
            except OSError:
                time.sleep(0.1)
        known = json.loads(get("/assay.json"))
        self.assertEqual({query["name"] for query in known["queries"]}, set(self.queries))
        page = get("/assay")
        self.assertIn("Results with their intervals", page)
        for name, sql in self.queries.items():
            arguments = {key: self.arguments[key] for key in re.findall(r"(?<!:):(\w+)", sql)}
            answer = json.loads(get(f"/assay/{name}.json?_shape=objects&" + urllib.parse.urlencode(arguments)))
            self.assertTrue(answer.get("ok", True), answer)
            expected = self.ask(sql, **arguments)
            self.assertEqual(answer["rows"][:100], json.loads(json.dumps(expected))[:100], name)


if __name__ == "__main__":
    run_tests()
