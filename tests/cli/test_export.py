"""Results in the formats of other programs, each parsed as that program would."""

import base64
import csv
import datetime
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
import forge  # noqa: E402
from assay_cli import CliTest, run_tests  # noqa: E402

CONTEXT = ["workload", "precision", "batch", "scenario", "implementation", "protocol", "device_spec", "device",
           "simulated", "driver_version", "host", "workload_digest", "protocol_digest",
           "tool_version"]


SCHEMAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "formats", "cyclonedx")


def cyclonedx_schema():
    """A validator of the official schema; None without python3-jsonschema."""
    try:
        import jsonschema
    except ImportError:
        return None
    schemas = {}
    for name in ("bom-1.6", "spdx", "jsf-0.82"):
        with open(os.path.join(SCHEMAS, f"{name}.schema.json"), encoding="utf-8") as file:
            schemas[name] = json.load(file)
    store = {f"http://cyclonedx.org/schema/{name}.schema.json": schema
             for name, schema in schemas.items()}
    try:
        from referencing import Registry, Resource
        registry = Registry().with_resources(
            [(uri, Resource.from_contents(schema)) for uri, schema in store.items()])
        return jsonschema.Draft7Validator(schemas["bom-1.6"], registry=registry)
    except ImportError:
        resolver = jsonschema.RefResolver("http://cyclonedx.org/schema/bom-1.6.schema.json",
                                          schemas["bom-1.6"], store=store)
        return jsonschema.Draft7Validator(schemas["bom-1.6"], resolver=resolver)


def as_shown(value):
    """What --json makes of a record: times of day and seeds as text, the times in ISO 8601, too."""
    if isinstance(value, list):
        return [as_shown(element) for element in value]
    if not isinstance(value, dict):
        return str(value) if isinstance(value, int) and abs(value) > 2**53 else value
    shown = {}
    for name, element in value.items():
        whole = isinstance(element, int) and not isinstance(element, bool)
        shown[name] = str(element) if whole and name.endswith(("utc_ns", "seed")) else as_shown(element)
        if whole and name.endswith("utc_ns"):
            moment = datetime.datetime.fromtimestamp(element // 10**9, datetime.timezone.utc)
            shown[name[:-3]] = f"{moment:%Y-%m-%dT%H:%M:%S}.{element % 10**9 // 10**6:03}Z"
    return shown


def parse_openmetrics(text):
    """Samples of OpenMetrics 1.0 text; fails on what the specification does not allow."""
    label = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*"'
    sample = re.compile(rf"([a-zA-Z_:][a-zA-Z0-9_:]*)\{{({label}(?:,{label})*)\}} (\S+)(?: (\S+))?")
    lines = text.split("\n")
    assert lines[-1] == "" and lines[-2] == "# EOF", "must end with # EOF"
    families, family, rows, seen = set(), None, [], set()
    for line in lines[:-2]:
        if line.startswith("# "):
            _, word, name, rest = line.split(" ", 3)
            assert word in ("HELP", "TYPE", "UNIT"), line
            if name != family:
                assert name not in families, f"{name} is split in two"
                families.add(name)
                family = name
            if word == "UNIT":
                assert name.endswith("_" + rest), line
            if word == "TYPE":
                assert rest == "gauge", line
            continue
        match = sample.fullmatch(line)
        assert match, line
        assert match[1] == family, line
        labels = re.findall(rf'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"', match[2])
        assert len(dict(labels)) == len(labels), "a label twice: " + line
        assert (match[1], match[2]) not in seen, "a series twice: " + line
        seen.add((match[1], match[2]))
        rows.append((match[1], dict(labels), float(match[3]),
                     float(match[4]) if match[4] else None))
    return rows


class Export(CliTest):
    def setUp(self):
        super().setUp()
        self.row = self.run_settled()
        self.result_id = self.row["id"]
        self.record = self.assay("show", self.result_id, "--json", "--db", self.db).json()

    def export(self, *words, **environment):
        call = self.assay("export", *words, "--db", self.db, **environment)
        self.assertEqual(call.status, 0, call.err)
        return call.out

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.export("csv"))))
        self.assertEqual(len(rows), 1)
        for name in CONTEXT + ["id", "verdict", "created"]:
            self.assertTrue(rows[0][name], name)
        self.assertEqual(float(rows[0]["value"]), self.row["value"])
        with forge.Forgery(self.db) as forgery:  # text of a driver, or of another program
            forgery.db.execute("UPDATE device SET name = '=HYPERLINK(\"x\")\u001b[31m\u202e'")
        for words in (("csv",), ("csv-samples", self.result_id)):
            text = self.export(*words)
            self.assertEqual(next(csv.DictReader(io.StringIO(text)))["device"],
                             "'=HYPERLINK(\"x\")\\x1B[31m\\xE2\\x80\\xAE")
            self.assertNotIn("\x1b", text)

    def test_parquet(self):
        """The columns of the CSV by duckdb itself; what a spreadsheet would run keeps its characters here."""
        with forge.Forgery(self.db) as forgery:
            forgery.db.execute("UPDATE device SET name = '=HYPERLINK(\"x\")'")
        path = os.path.join(self.folder, "r.parquet")
        if not shutil.which("duckdb"):
            self.skipTest("no duckdb (pip install duckdb-cli)")
        self.export("parquet", "-o", path)
        done = subprocess.run(["duckdb", "-json", "-c", f"FROM '{path}'"], capture_output=True, text=True, check=True)
        (row,) = json.loads(done.stdout)
        (line,) = csv.DictReader(io.StringIO(self.export("csv")))
        self.assertEqual(list(row), list(line))
        self.assertEqual(row["device"], '=HYPERLINK("x")')
        for name, text in line.items():
            if name == "simulated":
                self.assertEqual(row[name], text == "1")
            elif name != "device":
                self.assertEqual("" if row[name] is None else row[name], type(row[name] or "")(text), name)

    def test_parquet_without_duckdb(self):
        path = os.path.join(self.folder, "r.parquet")
        call = self.assay("export", "parquet", "-o", path, "--db", self.db, PATH="/nonexistent")
        self.assertEqual(call.status, 3, call.err)
        self.assertIn("pip install duckdb-cli", call.err)
        self.assertFalse(os.path.exists(path))

    def test_csv_samples(self):
        rows = list(csv.DictReader(io.StringIO(self.export("csv-samples", self.result_id))))
        stored = self.query("SELECT sum(count) FROM series")[0][0]
        self.assertEqual(len(rows), stored)
        for name in CONTEXT + ["result", "trial", "status"]:
            self.assertTrue(all(row[name] for row in rows), name)
        first = [int(row["value"]) for row in rows
                 if row["series"] == "wall_ns" and row["trial"] == "1"]
        self.assertEqual(first, [value for (value,) in self.query(
            "SELECT value FROM samples WHERE trial = 1 AND series = 'wall_ns' ORDER BY number")])

    def test_json_and_jsonl(self):
        self.assertEqual(as_shown(json.loads(self.export("json"))), [self.record])
        lines = self.export("jsonl", "last").splitlines()
        self.assertEqual([as_shown(json.loads(line)) for line in lines], [self.record])
        self.assertEqual(self.export("jsonl"), self.export("jsonl"))

    def check_bom(self, bom):
        """What CycloneDX 1.6 requires, as far as our BOMs use it."""
        component_keys = {"type", "bom-ref", "name", "version", "description", "hashes", "purl",
                          "manufacturer", "properties"}
        types = {"application", "library", "device", "device-driver", "operating-system",
                 "firmware", "file"}
        self.assertEqual(set(bom), {"bomFormat", "specVersion", "serialNumber", "version",
                                    "metadata", "components", "dependencies"})
        self.assertEqual((bom["bomFormat"], bom["specVersion"]), ("CycloneDX", "1.6"))
        self.assertRegex(bom["serialNumber"],
                         r"^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
                         r"[0-9a-f]{12}$")
        self.assertRegex(bom["metadata"]["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
        parts = bom["components"] + [bom["metadata"]["component"]]
        references = [part["bom-ref"] for part in parts]
        self.assertEqual(len(set(references)), len(references))
        for part in parts:
            self.assertLessEqual(set(part), component_keys)
            self.assertIn(part["type"], types)
            self.assertTrue(part["name"])
            for entry in part.get("hashes", []):
                self.assertEqual(entry["alg"], "SHA-256")
                self.assertRegex(entry["content"], "^[0-9a-f]{64}$")
            for entry in part.get("properties", []):
                self.assertEqual(set(entry), {"name", "value"})
                self.assertIsInstance(entry["value"], str)
        for dependency in bom["dependencies"]:
            self.assertIn(dependency["ref"], references)
            self.assertLessEqual(set(dependency.get("dependsOn", [])), set(references))

    def test_cyclonedx(self):
        text = self.export("cyclonedx", self.result_id)
        self.assertEqual(text, self.export("cyclonedx", self.result_id))
        bom = json.loads(text)
        self.check_bom(bom)
        files = {(entry["path"], entry["sha256"]) for trial in self.record["trials"]
                 for entry in trial["components"]}
        self.assertTrue(files)
        reported = set()
        for part in bom["components"]:
            properties = {entry["name"]: entry["value"] for entry in part.get("properties", [])}
            if "assay:path" in properties:
                reported.add((properties["assay:path"],
                          part["hashes"][0]["content"] if "hashes" in part else None))
        self.assertEqual(reported, files)
        self.assertIn("device", [part["type"] for part in bom["components"]])
        self.assertIn("device-driver", [part["type"] for part in bom["components"]])
        host = self.record["trials"][0]["environment"]["host"]
        packaged = {file["path"]: file for trial in self.record["trials"]
                    for file in trial["components"] if file["package"]}
        if "Debian" in host["host.os"].get("value", ""):
            purls = [part["purl"] for part in bom["components"] if "purl" in part]
            self.assertEqual(len(purls), len(packaged))
            for purl in purls:
                self.assertRegex(purl, r"^pkg:deb/debian/(?:[a-z0-9.+-]|%[0-9A-F]{2})+@[^?]+(\?arch=[a-z0-9]+)?$")

    def test_cyclonedx_by_the_official_schema(self):
        validator = cyclonedx_schema()
        if validator is None:
            self.skipTest("no python3-jsonschema")
        errors = [f"{error.json_path if hasattr(error, 'json_path') else ''} {error.message}"
                  for error in validator.iter_errors(json.loads(self.export("cyclonedx")))]
        self.assertEqual(errors, [])
        broken = json.loads(self.export("cyclonedx"))
        broken["components"][0]["type"] = "nonsense"
        self.assertTrue(list(validator.iter_errors(broken)))

    def test_cyclonedx_describes_one_result(self):
        self.assay("run", "synthetic", "--device", "null:0", "--protocol", "fast.yaml", "--db",
                   self.db)
        call = self.assay("export", "cyclonedx", "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertIn("describes one result and 2 are selected", call.err)

    def check_statement(self, statement):
        self.assertEqual(set(statement), {"_type", "subject", "predicateType", "predicate"})
        self.assertEqual(statement["_type"], "https://in-toto.io/Statement/v1")
        self.assertEqual(statement["predicateType"], "urn:assay:predicate:results:1")
        line = self.export("jsonl", self.result_id).rstrip("\n")
        self.assertEqual(statement["subject"], [
            {"name": f"urn:assay:result:{self.record['campaign']['uid']}:1",
             "digest": {"sha256": hashlib.sha256(line.encode()).hexdigest()}}])
        (result,) = statement["predicate"]["results"]
        self.assertEqual(result["urn"], statement["subject"][0]["name"])
        self.assertEqual(result["row"]["value"], self.row["value"])
        self.assertEqual([attempt["status"] for attempt in result["attempts"]], ["ok", "ok"])
        for name in ("workload", "precision", "batch", "scenario", "implementation", "protocol", "seed"):
            self.assertIn(name, result["identity"])

    def test_intoto(self):
        self.check_statement(json.loads(self.export("intoto", self.result_id)))

    def test_intoto_signed(self):
        key = os.path.join(self.folder, "test.key")
        call = self.assay("key", "new", "tester.example", "--file", key)
        self.assertEqual(call.status, 0, call.err)
        envelope = json.loads(self.export("intoto", self.result_id, "--key", key))
        self.assertEqual(set(envelope), {"payloadType", "payload", "signatures"})
        self.assertEqual(envelope["payloadType"], "application/vnd.in-toto+json")
        payload = base64.b64decode(envelope["payload"], validate=True)
        self.check_statement(json.loads(payload))
        (signature,) = envelope["signatures"]
        self.assertIn(signature["keyid"], call.out + call.err)
        if not shutil.which("openssl"):
            self.skipTest("no openssl to check the signature with")
        kind = envelope["payloadType"].encode()
        signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
        # SubjectPublicKeyInfo of Ed25519 (RFC 8410) around the 32 bytes.
        public = base64.b64decode(signature["keyid"].split("+", 2)[2])[1:]
        der = bytes.fromhex("302a300506032b6570032100") + public
        for name, content in (("der", der), ("sig", base64.b64decode(signature["sig"])),
                              ("pae", signed), ("bad", signed + b" ")):
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(content)

        def verify(name):
            return subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER",
                                   "-inkey", "der", "-rawin", "-sigfile", "sig", "-in", name],
                                  cwd=self.folder, capture_output=True, check=False).returncode

        self.assertEqual(verify("pae"), 0)
        self.assertNotEqual(verify("bad"), 0)

    def test_only_intoto_is_signed(self):
        call = self.assay("export", "csv", "--sign", "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertIn("only intoto is signed", call.err)

    def test_openmetrics(self):
        rows = parse_openmetrics(self.export("openmetrics"))
        values = {name: value for name, _, value, _ in rows}
        self.assertAlmostEqual(values["assay_iteration_seconds"],
                               self.row["metrics"]["iteration_time"]["value"] / 1e9)
        self.assertEqual(values["assay_trials_ok"], 2)
        for name, labels, _, time in rows:
            self.assertEqual(labels["result"], self.result_id)
            self.assertEqual(labels["simulated"], "true")
            for key in ("workload", "precision", "batch", "scenario", "implementation", "protocol", "device"):
                self.assertTrue(labels[key], name)
            self.assertAlmostEqual(time, int(self.row["created_utc_ns"]) / 1e9, places=3)
        bare = parse_openmetrics(self.export("openmetrics", "--without-times"))
        self.assertEqual({time for *_, time in bare}, {None})

    def test_openmetrics_by_promtool(self):
        if not shutil.which("promtool"):
            self.skipTest("no promtool (package prometheus)")
        path = os.path.join(self.folder, "results.om")
        self.export("openmetrics", "-o", path)
        done = subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", path,
                               os.path.join(self.folder, "blocks")], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = subprocess.run(["promtool", "check", "metrics"], capture_output=True, text=True,
                              input=self.export("openmetrics", "--without-times"), check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_mlperf(self):
        lines = self.export("mlperf").splitlines()
        entries = []
        for line in lines:
            match = re.fullmatch(r":::MLLOG (\{.*\})", line)
            self.assertTrue(match, line)
            entries.append(json.loads(match[1]))
        for entry in entries:
            self.assertEqual(set(entry), {"namespace", "time_ms", "event_type", "key", "value",
                                          "metadata"})
            self.assertIn(entry["event_type"], ("POINT_IN_TIME", "INTERVAL_START", "INTERVAL_END"))
            self.assertIsInstance(entry["time_ms"], int)
            self.assertEqual(entry["metadata"]["result"], self.result_id)
        by_key = {entry["key"]: entry for entry in entries}
        self.assertEqual(by_key["submission_benchmark"]["value"], "synthetic")
        self.assertEqual(by_key["tracked_stats"]["value"]["value"], self.row["value"])
        self.assertEqual([entry["metadata"]["status"] for entry in entries
                          if entry["key"] == "run_stop"], ["success", "success"])

    def test_selection(self):
        self.assertEqual(self.export("jsonl", self.result_id, "last").count("\n"), 2)
        call = self.assay("export", "csv", "--workload", "nope", "--db", self.db)
        self.assertEqual(call.status, 4)
        call = self.assay("export", "cvs", "--db", self.db)
        self.assertEqual(call.status, 2)
        self.assertIn('did you mean "csv"?', call.err)
        self.assertEqual(self.assay("export", "csv", "ffffffff/1", "--db", self.db).status, 4)

    def test_a_file_is_whole_or_absent(self):
        path = os.path.join(self.folder, "out.json")
        self.export("json", "-o", path)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(as_shown(json.load(file)), [self.record])
        call = self.assay("export", "json", "-o", os.path.join(self.folder, "no", "x"), "--db",
                          self.db)
        self.assertNotEqual(call.status, 0)
        self.assertIn("no such directory", call.err)
        for name, words in ((".", "is a folder; name a file in it"), ("", "empty name")):
            for words_before in (("export", "json", "-o"), ("bundle", "last", "--unsigned", "-o"),
                                 ("report", "--html"), ("report", "--dossier")):
                call = self.assay(*words_before, name, "--db", self.db)
                self.assertEqual(call.status, 2, words_before)
                self.assertIn(words, call.err)
        self.assertEqual([name for name in os.listdir(self.folder)
                          if name.startswith("out.json.")], [])

    def test_output_to_a_pipe(self):
        call = self.assay("export", "json", "-o", "/dev/stdout", "--db", self.db)
        self.assertEqual(call.status, 0, call.err)
        self.assertEqual(as_shown(json.loads(call.out)), [self.record])
        self.assertTrue(os.path.islink("/dev/stdout"))

    def test_a_closed_device(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([os.environ["ASSAY"], "export", "json", "--db", self.db],
                                  stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertNotEqual(done.returncode, 0)

    def test_hostile_names_stay_in_their_place(self):

        declared = self.write("weird.yaml", "workload: weird\nversion: 1\nkind: synthetic\n"
                              "description: 'quote \" backslash \\ comma , '\n")
        self.assay("run", declared, "--device", "null:0", "--protocol", "fast.yaml", "--db",
                   self.db)
        for name in ("csv", "jsonl", "openmetrics", "mlperf"):
            self.export(name)
        parse_openmetrics(self.export("openmetrics"))


if __name__ == "__main__":
    run_tests()
