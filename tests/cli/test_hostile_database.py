"""Databases that another program changed, in the hands of every command that opens one."""

import contextlib
import json
import os
import shutil
import socket
import sqlite3
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import ASSAY, PATIENCE, CliTest, run_tests  # noqa: E402

from tamper import TamperTest  # noqa: E402  (exits where the second verifier cannot run)

import forge  # noqa: E402

ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"


class HostileTest(TamperTest):
    def change(self, statements):
        """A copy that the statements changed, as somebody with SQLite changes it."""
        path = self.copy()
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.executescript(statements)
        return path

    def commands(self):
        """Calls that open a database: to read it, and to write to it."""
        result = self.result()
        return {"results": ["results"], "show": ["show", result], "json": ["show", result, "--json"],
                "report": ["report"], "page": ["report", "--html", "page.html"],
                "compare": ["compare", result, result],
                "bundle": ["bundle", result[:8], "-o", "x.assay"],
                "export": ["export", "openmetrics", result],
                "amend": ["amend", result, "--reason", "x", "--by", "me"],
                "archive": ["archive", result[:8], "--reason", "x"],
                "checkpoint": ["checkpoint"], "resume": ["run", "--resume", "last"],
                "run": ["run", "synthetic", "--device", "null:0", "--protocol", self.fast()]}

    def result(self):
        with contextlib.closing(sqlite3.connect(f"file:{self.copy()}?mode=ro", uri=True)) as db:
            return db.execute("SELECT substr(uid, 1, 8) || '/1' FROM campaign ORDER BY id").fetchone()[0]


class Infinity(HostileTest):
    def reals(self):
        """Every column of numbers with a fraction, by the schema."""
        with contextlib.closing(sqlite3.connect(f"file:{self.copy()}?mode=ro", uri=True)) as db:
            return db.execute("SELECT m.name, c.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c"
                              " WHERE m.type = 'table' AND c.type = 'REAL'").fetchall()

    def test_no_column_may_hold_it(self):
        """SQLite has infinities, JSON has none: what reads one names the place, and nothing else is at fault."""
        reals = self.reals()
        self.assertGreaterEqual(len(reals), 2)
        commands = self.commands()
        for table, column in reals:
            for value in ("9e999", "-9e999"):
                with contextlib.closing(sqlite3.connect(self.copy())) as db:
                    trigger, = db.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table + "_no_update",)).fetchone()
                path = self.change(f"DROP TRIGGER {table}_no_update; UPDATE {table} SET {column} = {value}; {trigger}")
                for command in ("results", "show", "json", "report", "page", "export", "compare"):
                    with self.subTest(table=table, column=column, value=value, command=command):
                        call = self.assay(*commands[command], "--db", path, timeout=60)
                        self.assertNotIn("memory", call.err)
                        if call.status != 0:
                            self.assertEqual(call.status, 4, call.err)
                            self.assertRegex(call.err, rf"column {column}, table {table}, row \d+ holds -?infinity")
                call = self.assay("verify", path, "--json", timeout=60)
                self.assertEqual(call.status, 1, call.err)
                self.assertIn(table, [finding["table"] for finding in call.json()["findings"]])
                self.assertEqual(self.assay("show", self.result(), "--db", path).status, 4)


class Schema(HostileTest):
    CASES = {
        "endless view": ("DROP VIEW results; CREATE VIEW results AS " + ENDLESS, "view results"),
        "table as endless view": ("PRAGMA foreign_keys=OFF; DROP TABLE amendment; CREATE VIEW amendment AS"
                                  " SELECT i AS id, i AS cell, i AS utc_ns, 'x' AS author, 'y' AS reason"
                                  " FROM (" + ENDLESS + ")", "amendment"),
        "trigger on the log": ("CREATE TRIGGER t AFTER INSERT ON record WHEN NEW.type = 'amendment'"
                               " BEGIN INSERT INTO phase (trial, name, begin_ns, end_ns)"
                               " VALUES (1, 'evil', 1, 2); END", "trigger t does not belong there"),
        "no trigger": ("DROP TRIGGER trial_no_update", "trigger trial_no_update is missing"),
        "index": ("DROP INDEX trial_by_cell", "index trial_by_cell is missing"),
        "column": ("ALTER TABLE trial ADD COLUMN x TEXT", "table trial is not the one"),
        "statistics": ("ANALYZE", "table sqlite_stat1 does not belong there"),
        "virtual table": ("CREATE VIRTUAL TABLE words USING fts5 (w)", "words"),
    }

    def test_every_open_compares_the_schema(self):
        """Nothing is read or written: not even what is signed next can hold what a trigger added."""
        commands = self.commands()
        for name, (statements, says) in self.CASES.items():
            path = self.change(statements)
            with open(path, "rb") as file:
                before = file.read()
            for command, words in commands.items():
                with self.subTest(name, command=command):
                    call = self.assay(*words, "--db", path)
                    self.assertEqual(call.status, 4, call.err)
                    self.assertIn("its schema is not the one that assay makes", call.err)
                    self.assertIn(says, call.err)
                    self.assertIn("`assay verify %s`" % path, call.err)
            with open(path, "rb") as file:
                self.assertEqual(file.read(), before, name)
            self.assert_found(path)

    def test_rebuilt_file_is_the_same(self):
        """VACUUM and another order of the same objects change nothing that counts."""
        path = self.change("VACUUM")
        for words in (["results"], ["checkpoint"]):
            call = self.assay(*words, "--db", path)
            self.assertEqual(call.status, 0, call.err)
        self.assert_good(path)


class Work(HostileTest):
    """A table whose pages lead to one page over and over has more rows than any file can hold."""

    LEVELS, CHILDREN = 6, 400

    def repeat_pages(self, path, table):
        with contextlib.closing(sqlite3.connect(path)) as db:
            root, size = db.execute("SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM"
                                    " sqlite_schema WHERE name = ?", (table,)).fetchone()
        with open(path, "r+b") as file:
            data = bytearray(file.read())
            count = len(data) // size
            old = data[(root - 1) * size:root * size]
            self.assertIn(old[0], (0x05, 0x0d), "a page of a table")
            for level in range(self.LEVELS):
                page = bytearray(size)
                following = count + level + 1
                page[0] = 5
                struct.pack_into(">HHHB", page, 1, 0, self.CHILDREN, size - 5 * self.CHILDREN, 0)
                struct.pack_into(">I", page, 8, following)
                for i in range(self.CHILDREN):
                    at = size - 5 * (i + 1)
                    struct.pack_into(">H", page, 12 + 2 * i, at)
                    struct.pack_into(">IB", page, at, following, 1)
                if level == 0:
                    data[(root - 1) * size:root * size] = page
                else:
                    data += page
            data += old
            struct.pack_into(">I", data, 28, len(data) // size)
            file.seek(0)
            file.write(data)

    def test_endless_table(self):
        path = self.copy()
        self.repeat_pages(path, "checkpoint")
        call = self.assay("bundle", self.result()[:8], "-o", "x.assay", "--db", path)
        self.assertEqual(call.status, 4, call.err)
        self.assertIn("it asks for more work than a file of this size explains", call.err)
        self.assertIn("`assay verify %s`" % path, call.err)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "x.assay")))


class Heads(HostileTest):
    """No head is signed over a record that is not the one that entered the log."""

    def altered(self, change):
        """A copy with two amendments since its last head, then `change`; and the last record's row."""
        result, path = self.result(), self.copy()
        for reason in ("loud", "hot"):
            call = self.assay("amend", result, "--reason", reason, "--by", "me", "--db", path)
            self.assertEqual(call.status, 0, call.err)
        with forge.Forgery(path) as forgery:
            (last,) = forgery.db.execute("SELECT max(id) FROM record").fetchone()
            if change:
                forgery.db.execute("%s WHERE id = %d" % (change, last - 1))
            return path, last - 1

    def test_new_records_are_checked(self):
        cases = {
            "body": ("UPDATE record SET body = replace(body, 'loud', 'calm')", "record %d has been changed"),
            "removed": ("DELETE FROM record", "is missing"),
            "digest": ("UPDATE record SET digest = zeroblob(32)", "record %d has been changed"),
            "salt": ("UPDATE record SET salt = zeroblob(32)", "record %d has been changed"),
            "type": ("UPDATE record SET type = 'nothing'", "record %d has been changed"),
            "leaf": ("UPDATE record SET leaf = leaf + 9", "is missing"),
        }
        heads = {"checkpoint": ["checkpoint"], "bundle": ["bundle", self.result()[:8], "-o", "x.assay"],
                 "plan": ["run", "synthetic", "--device", "null:0", "--protocol", self.fast()]}
        key = os.path.join(self.folder, "k.key")
        for name, (change, says) in cases.items():
            for head, words in heads.items():
                with self.subTest(name, head=head):
                    path, row = self.altered(change)
                    before = self.signed(path)
                    call = self.assay(*words, "--db", path, ASSAY_KEY=key)
                    self.assertNotEqual(call.status, 0)
                    self.assertIn(says % row if "%" in says else says, call.err)
                    self.assertIn("nothing was signed", call.err)
                    self.assertEqual(self.signed(path), before)

    def test_untouched_records_are_signed(self):
        path, _ = self.altered(None)
        call = self.assay("checkpoint", "--db", path, ASSAY_KEY=os.path.join(self.folder, "k.key"))
        self.assertEqual(call.status, 0, call.err)
        self.assert_good(path)

    @staticmethod
    def signed(path):
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            return db.execute("SELECT (SELECT count(*) FROM signature), count(*) FROM checkpoint").fetchone()


class Beside(HostileTest):
    """What lies next to the database or in its file, outside of its content: both verifiers agree."""

    def log_of(self, path):
        """Puts a log with a change next to the file, as a killed writer leaves it."""
        other = os.path.join(self.folder, "other.db")
        shutil.copy(path, other)
        with contextlib.closing(sqlite3.connect(other)) as db:
            db.execute("PRAGMA wal_autocheckpoint=0")
            db.execute("CREATE TABLE t (c)")
            db.commit()
            shutil.copy(other + "-wal", path + "-wal")

    def agreed(self, path):
        """The checks that something fails in, by both; and without a trace of either."""
        before = sorted(os.listdir(self.folder))
        ours, theirs = ({check for check, *_rest in found} for found in self.both(path))
        for name in set(os.listdir(self.folder)) - set(before):
            self.assertTrue(name.endswith("-shm"), name)
            os.unlink(os.path.join(self.folder, name))
        self.assertEqual(ours, theirs)
        return ours

    def put(self, path, data):
        with open(path, "wb") as file:
            file.write(data)

    def test_logs(self):
        def make(kind, path):
            {"none": lambda: None,
             "empty": lambda: self.put(path + "-wal", b""),
             "one byte": lambda: self.put(path + "-wal", b"\0"),
             "noise": lambda: self.put(path + "-wal", os.urandom(50000)),
             "folder": lambda: os.mkdir(path + "-wal"),
             "pipe": lambda: os.mkfifo(path + "-wal"),
             "journal": lambda: os.mkfifo(path + "-journal"),
             "shared memory": lambda: os.mkfifo(path + "-shm"),
             "dangling": lambda: os.symlink("nowhere", path + "-wal"),
             "log": lambda: self.log_of(path),
             "other page size": lambda: (self.log_of(path), self.flip(path + "-wal", 10)),
             "checksum": lambda: (self.log_of(path), self.flip(path + "-wal", 25))}[kind]()

        cases = {"none": set(), "empty": set(), "dangling": set(), "log": {"schema"}}
        for kind in ("none", "empty", "dangling", "one byte", "noise", "folder", "pipe", "journal",
                     "shared memory", "log", "other page size", "checksum"):
            with self.subTest(kind):
                path = os.path.join(self.folder, "beside %s.db" % kind)
                shutil.copy(self.copy(), path)
                make(kind, path)
                self.assertEqual(self.agreed(path), cases.get(kind, {"file"}))
                if kind in ("folder", "pipe", "journal", "shared memory"):
                    for words in (["results"], ["checkpoint", "--unsigned"]):
                        call = self.assay(*words, "--db", path)
                        self.assertNotEqual(call.status, 0)
                        self.assertIn("which is not a regular file", call.err)

    @staticmethod
    def flip(path, at):
        with open(path, "r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 1]))

    def test_bytes_outside(self):
        path = self.copy()
        with open(path, "ab") as file:
            file.write(b"x" * 5000)
        self.assertEqual(self.agreed(path), {"file"})
        call = self.assay("verify", path)
        self.assertIn("5000 bytes lie outside of the database, after its last page", call.out)
        path = self.change("CREATE TABLE t (c); INSERT INTO t VALUES (zeroblob(50000)); DROP TABLE t")
        self.assertEqual(self.agreed(path), set())
        call = self.assay("verify", path)
        self.assertRegex(call.out, r"note: file: \d+ bytes lie outside of the database's content, on \d+ pages")
        self.assertNotIn("outside of", self.assay("verify", self.copy()).out)


class Shortage(HostileTest):
    """What the system refuses is neither verified nor wrong."""

    def limited(self, limit, *words):
        return subprocess.run(["sh", "-c", limit + '; exec "$@"', "sh", ASSAY, *words], text=True,
                              cwd=self.folder, env=self.environment(), capture_output=True, check=False)

    def assert_unknown(self, done, file):
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertNotIn("NOT VERIFIED", done.stdout)
        self.assertNotIn("wrong:", done.stdout)
        self.assertNotIn("dmesg", done.stderr)
        self.assertIn("%s: COULD NOT BE VERIFIED" % file, done.stdout)

    def test_memory(self):
        database = self.copy()
        call = self.assay("bundle", self.result()[:8], "-o", "b.assay", "--db", database)
        self.assertEqual(call.status, 0, call.err)
        for file in (database, os.path.join(self.folder, "b.assay")):
            unknown = 0
            for limit in range(10000, 26000, 400):
                with self.subTest(file=file, limit=limit):
                    done = self.limited("ulimit -v %d" % limit, "verify", "--threads", "1", file)
                    if done.returncode == 127 or done.stderr.strip().startswith("libgomp: "):
                        self.assertEqual(done.stdout, "")  # not even the program's libraries fit
                        continue
                    if done.returncode != 0:
                        self.assert_unknown(done, file)
                        self.assertRegex(done.stderr, "memory")
                        unknown += 1
            self.assertGreater(unknown, 0)

    def test_json(self):
        path = self.copy()
        self.assertEqual(self.assay("verify", path, "--json").json()["state"], "verified")
        done = self.limited("ulimit -n 6", "verify", "--json", path)
        document = json.loads(done.stdout)
        self.assertEqual((done.returncode, document["data"]["state"], document["data"]["verified"]),
                         (5, "could_not_verify", False))
        self.assertIn("Too many open files", document["errors"][0]["message"])
        with open(path, "ab") as file:
            file.write(b"x")
        self.assertEqual(self.assay("verify", path, "--json").json()["state"], "not_verified")

    def test_open_files(self):
        path, named = self.copy(), set()
        for count in range(4, 24):
            for words in (["verify", path], ["results", "--db", path], ["checkpoint", "--unsigned", "--db",
                                                                        path]):
                done = self.limited("ulimit -n %d" % count, *words)
                with self.subTest(count=count, words=words[0]):
                    if "Too many open files" in done.stderr:
                        named.add(words[0])
                        self.assertIn("ulimit -n", done.stderr)
                    self.assertNotIn("dmesg", done.stderr)
                    if words[0] == "verify" and "opening" in done.stderr:
                        self.assert_unknown(done, path)
                    elif words[0] == "verify":
                        self.assertIn(done.returncode, (0, 5, 127), done.stderr)
        self.assertLessEqual({"verify", "checkpoint"}, named)


class Paths(HostileTest):
    """A pipe, a socket or a device as any path: refused, never waited for."""

    def test_special_files(self):
        path, pipe = self.copy(), os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        place = os.path.join(self.folder, "socket")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(place)
            for special in (pipe, place, "/dev/null"):
                for words in (["verify", special], ["results", "--db", special], ["import", special],
                              ["checkpoint", "--key", special, "--db", path],
                              ["checkpoint", "--witness", special, "--db", path],
                              ["report", special], ["run", "synthetic", "--db", special],
                              ["key", "show", "--file", special]):
                    with self.subTest(special=special, words=words):
                        call = self.assay(*words)
                        self.assertNotEqual(call.status, 0)
                        self.assertTrue(call.err)
                        self.assertNotIn("for 30 s", call.err)  # as the pipes below are waited for

    def test_pipes_of_which_nobody_holds_the_other_end(self):
        """Those that may be pipes, as a shell makes them, are waited for as long as file.h says."""
        path = self.copy()
        pipes = [os.path.join(self.folder, "pipe%d" % i) for i in range(5)]
        for pipe in pipes:
            os.mkfifo(pipe)
        calls = [["analyze", pipes[0]], ["checkpoint", "--timestamp-token", pipes[1], "--db", path],
                 ["verify", "--key", pipes[2], path], ["report", "--html", pipes[3], "--db", path],
                 ["export", "openmetrics", "-o", pipes[4], "--db", path]]
        processes = [self.start(*words) for words in calls]
        for words, process in zip(calls, processes):
            with self.subTest(words=words):
                _, err = process.communicate(timeout=PATIENCE)
                self.assertEqual(process.returncode, 2, err)
                self.assertRegex(err, "is a pipe .*for 30 s")


class KeyNames(CliTest):
    def test_default_name_says_nothing(self):
        """A bundle that withholds the host's name does not hold it as the name of a signature."""
        host = "quaint-otter-9917"
        script = ("hostname %s && exec 2>&1 && '%s' key new --json && '%s' run synthetic --device null:0 "
                  "--protocol '%s' --db a.db && '%s' bundle last -o all.assay --db a.db && '%s' bundle last "
                  "-o less.assay --db a.db --withhold host.name && '%s' verify less.assay"
                  % (host, ASSAY, ASSAY, self.fast(), ASSAY, ASSAY, ASSAY))
        if subprocess.run(["unshare", "-ur", "-u", "hostname", host], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("no namespace with a name of its own can be made here")
        done = subprocess.run(["unshare", "-ur", "-u", "sh", "-c", script], cwd=self.folder, text=True,
                              env=self.environment(), capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, '"name": "key-[0-9a-f]{8}"')
        holds = {}
        for name in ("all", "less"):
            with open(os.path.join(self.folder, name + ".assay"), "rb") as file:
                holds[name] = host.encode() in file.read()
        self.assertEqual(holds, {"all": True, "less": False})
        self.assertIn("less.assay: verified", done.stdout)


if __name__ == "__main__":
    run_tests()
