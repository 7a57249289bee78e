"""Bytes that a terminal obeys, in an argument, a file's name and content, a variable or a database: none is written to
standard output or error, whichever command gets it."""

import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, PATIENCE, CliTest, run_tests  # noqa: E402

# ESC, DEL, CR, an override of direction, a space of no width, C1 as UTF-8, and two bytes that are none.
HOSTILE = "x\x1b[31mred\x7f\r\u202e\u200b\x85y".encode() + b"\x9b\xff"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e\udc80-\udcff]")
COMMANDS = ("ab accept amend analyze archive bundle calibrate checkpoint compare cost decide describe devices doctor"
            " export gate history import key list matrix plan power report reproduce results run schema show stack"
            " verify witness worker").split()
VARIABLES = ("ASSAY_DB", "ASSAY_KEY", "ASSAY_WORKER", "ASSAY_NULL", "ASSAY_LIB_OPENCL", "ASSAY_HOST_ROOT",
             "ASSAY_WORKERS", "ASSAY_DB_WAIT", "ASSAY_PROBE_TIMEOUT", "XDG_CONFIG_HOME", "TERM", "TZ")


class Escaped(CliTest):
    def assert_escaped(self, *words, **variables):
        environment = {**{name.encode(): value.encode() for name, value in self.environment().items()},
                       **{name.encode(): value for name, value in variables.items()}}
        done = subprocess.run([ASSAY.encode(), *(word if isinstance(word, bytes) else word.encode() for word in words)],
                              cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
                              env=environment, check=False)
        said = (done.stdout + done.stderr).decode("utf-8", "surrogateescape")
        found = OBEYED.search(said)
        self.assertIsNone(found, (words, found and said[max(0, found.start() - 60):found.start() + 20]))
        self.assertGreaterEqual(done.returncode, 0, words)
        return done

    def test_arguments(self):
        """In every place of every command, and as its name."""
        for command in COMMANDS:
            with self.subTest(command):
                for words in ((HOSTILE,), (HOSTILE,) * 2, (HOSTILE,) * 5, (b"--" + HOSTILE,), (b"-" + HOSTILE,),
                              (b"--db=" + HOSTILE, "last"), (b"--lib=" + HOSTILE,), (HOSTILE, "--json")):
                    self.assert_escaped(command, *words)
        for words in ((HOSTILE,), (b"--" + HOSTILE,), ("help", HOSTILE)):
            self.assert_escaped(*words)

    def test_too_many_are_named(self):
        done = self.assert_escaped("doctor", HOSTILE)
        self.assertEqual(done.returncode, 2)
        self.assertIn(rb'too many arguments at "x\x1B[31mred\x7F\x0D\xE2\x80\xAE', done.stderr)

    def test_lines(self):
        """A line break of an argument begins no line of a message."""
        forged = b"x\nassay: error: forged"
        for command in COMMANDS:
            for words in ((forged,), (b"--" + forged,), (forged, forged, b"--json"), (b"--db=" + forged, b"last")):
                with self.subTest(command, words=words):
                    done = self.assert_escaped(command, *words)
                    self.assertNotIn(b"\nassay: error: forged", done.stderr)

    def test_files(self):
        """Their names, and what they hold, as a declaration, a sheet and a database."""
        for end, content in ((b".yaml", b"workload: " + HOSTILE + b"\nversion: 1\n"), (b".json", b'{"a": "' + HOSTILE),
                             (b".csv", b"a," + HOSTILE + b"\n1,2\n"), (b".db", HOSTILE), (b".assay", HOSTILE)):
            name = HOSTILE + end
            with open(os.path.join(self.folder.encode(), name), "wb") as file:
                file.write(content)
            for command in ("describe", "run", "analyze", "import", "verify", "decide", "accept", "show", "cost"):
                with self.subTest(command, end=end):
                    self.assert_escaped(command, b"./" + name)
                    self.assert_escaped(command, "last", b"--db=" + name)

    def test_files_whose_names_are_no_text(self):
        """Their names are in --json as in messages; it said that there was no memory for it."""
        def data(*words):
            done = self.assert_escaped(*words, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)["data"]

        db, bundle, times = b"\xff.db", b"b\xff.assay", b"t\xff.txt"
        with open(os.path.join(self.folder.encode(), times), "wb") as file:
            file.write(b"1\n2\n3\n")
        run = data("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--db", db)
        plan = data("run", "synthetic", "--device", "null:0", "--protocol", self.fast(), "--plan-only", "--db", db)
        self.assertEqual({run["database"], plan["database"], data("verify", db)["file"]}, {"\\xFF.db"})
        self.assertEqual(data("bundle", run["campaign"], "-o", bundle, "--db", db)["bundle"], "b\\xFF.assay")
        self.assertEqual(data("import", bundle, "--db", "other.db")[0]["file"], "b\\xFF.assay")
        self.assertEqual(data("analyze", times, "--unit", "ms")[0]["series"], "t\\xFF.txt")
        self.assertEqual(data("key", "new", "--file", b"k\xff")["file"], "k\\xFF")

    def test_a_message_that_is_cut_within_a_character(self):
        results = [{"command": "x" * 59 + "é", "times": [1.0, 2.0, 1.5], "exit_codes": [0, code, 0]} for code in (0, 1)]
        done = self.assert_escaped("analyze", self.write("cut.json", json.dumps({"results": results}, ensure_ascii=False)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"left out", done.stderr)

    def test_variables(self):
        for name in VARIABLES:
            for words in (("results",), ("key", "show"), ("worker", "list"), ("list",)):
                with self.subTest(name, command=words[0]):
                    self.assert_escaped(*words, **{name: HOSTILE})

    def test_paths_of_what_is_made(self):
        self.assertEqual(self.run_synthetic().status, 0)
        for words in ((b"bundle", b"last", b"-o", HOSTILE), (b"report", b"--html", HOSTILE + b".html"),
                      (b"verify", HOSTILE), (b"import", HOSTILE, b"--db", b"other.db")):
            done = self.assert_escaped(*words, *(() if b"--db" in words or words[0] == b"verify" else ("--db", self.db)))
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_database(self):
        """Every text of the projected tables, as another program may have changed it; JSON says the same."""
        self.assertEqual(self.run_synthetic().status, 0)
        value = HOSTILE[:-2].decode()
        with contextlib.closing(sqlite3.connect(self.db, isolation_level=None)) as db:
            triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
            for name, _ in triggers:
                db.execute(f"DROP TRIGGER {name}")
            columns = db.execute("SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type"
                                 " = 'table' AND c.type = 'TEXT' AND m.name NOT IN ('record', 'log') AND c.name NOT IN"
                                 " ('uid', 'body', 'facts', 'seed', 'order_seed', 'status', 'at', 'name')").fetchall()
            for table, column in columns:
                db.execute(f"UPDATE {table} SET {column} = ? || {column}", (value,))
            for name in ("device", "phase"):
                db.execute(f"UPDATE {name} SET name = ? || name", (value,))
            for _, sql in triggers:
                db.execute(sql)
        for words in (("results",), ("results", "--json"), ("show", "last/1"), ("show", "last/1", "--json"), ("report",),
                      ("report", "--html", "page.html"), ("export", "json", "last/1"), ("export", "csv", "last/1"),
                      ("export", "openmetrics", "last/1"), ("compare", "last/1", "last/1"), ("history", "synthetic")):
            with self.subTest(words):
                self.assert_escaped(*words, "--db", self.db)
        self.assertIn(value, self.assay("results", "--db", self.db, "--json").json()[0]["device"])


if __name__ == "__main__":
    run_tests()
