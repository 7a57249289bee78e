#!/usr/bin/env python3
"""What a release wrote, kept so that later ones must read it (tests/cli/test_migration.py).

usage: ASSAY=FILE make.py FOLDER

Writes with that program, into a new FOLDER: results.db.xz, a database with nearly every type of record,
measured in moments on the null backend and the processor; offer.assay, a signed bundle of its first campaign;
values.json, what `assay results` said of it. Readings come from a recorded machine.
"""
import json
import lzma
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "..", name) for name in ("support", "cli")]

TRIAD = """workload: small_triad
version: 1
kind: memory_bound
description: a = b + 0.4 c, small
precisions: [fp32]
memory_bound: {kernel: triad, elements: 4096}
"""

PRICES = """item,kind,currency,amount,amount_lo,amount_hi,unit
card,cloud,EUR,1.25,1.20,1.30,hour
"""


def main(target):
    with tempfile.TemporaryDirectory(prefix="assay-release-") as folder:
        program = shutil.copy(os.environ["ASSAY"], os.path.join(folder, "assay"))
        os.environ["ASSAY"] = program  # its path is recorded
        from assay_cli import CliTest
        from test_import import ROW

        class Maker(CliTest):
            def environment(self, **changes):
                return super().environment(**{
                    "ASSAY_HOST_ROOT": self.machine("tuned_server"), "HOME": self.folder,
                    "ASSAY_KEY": os.path.join(self.folder, "key"), **changes})

            def call(self, *words, statuses=(0,), **changes):
                call = self.assay(*words, **changes)
                if call.status not in statuses:
                    sys.exit(f"{' '.join(words)}: status {call.status}\n{call.err}")
                return call

        maker = Maker()
        maker.setUp()
        maker.call("key", "new", "release", "--file", "key")
        maker.write("fast.yaml", maker.FAST)
        maker.write("triad.yaml", TRIAD)
        maker.write("bench.json", json.dumps([ROW]))
        db = ("--db", "results.db")
        with_protocol = ("--protocol", "./fast.yaml", "--quiet", *db)
        for words in (("run", "synthetic", "--device", "null:0", *with_protocol),
                      ("run", "./triad.yaml", "--device", "cpu:0", *with_protocol)):
            maker.call(*words)
        maker.call("ab", "synthetic", "--a", "device=null:0", "--b", "device=null:0", *with_protocol,
                   statuses=(0, 1, 3), ASSAY_NULL="launch_ns=200000,seed=2")
        maker.call("run", "synthetic", "--device", "null:0", *with_protocol)
        listed = maker.call("results", "--json", "--limit", "99", *db).json()
        first, last = (listed[place]["id"].split("/")[0] for place in (-1, 0))
        maker.call("gate", f"{first}/1", f"{last}/1", *db, statuses=(0, 1, 2, 3))
        maker.write("prices.csv", PRICES)
        maker.call("cost", f"{first}/1", "--prices", "prices.csv", "--item", "card", *db)
        maker.call("amend", f"{first}/1", "--reason", "a remark", "--by", "somebody", *db)
        maker.call("archive", last, "--reason", "a repetition", *db)
        maker.call("import", "bench.json", *db)
        maker.call("bundle", first, "-o", "offer.assay", *db)
        maker.call("run", "synthetic", "--device", "null:0", "--protocol", "./fast.yaml", "--quiet", "--db",
                   "other.db")
        maker.call("bundle", "last", "-o", "other.assay", "--db", "other.db")
        maker.call("import", "other.assay", *db)
        maker.call("checkpoint", *db)
        listed = maker.call("results", "--json", "--archived", "--limit", "99", *db).json()
        values = {row["id"]: {name: row[name] for name in ("workload", "verdict", "metrics")} for row in listed}

        os.makedirs(target)
        with open(os.path.join(maker.folder, "results.db"), "rb") as file, \
                lzma.open(os.path.join(target, "results.db.xz"), "wb", preset=9) as packed:
            shutil.copyfileobj(file, packed)
        shutil.copy(os.path.join(maker.folder, "offer.assay"), target)
        with open(os.path.join(target, "values.json"), "w", encoding="utf-8") as file:
            json.dump(values, file, indent=1, sort_keys=True)
            file.write("\n")
        maker.tearDown()


if __name__ == "__main__":
    if len(sys.argv) != 2 or "ASSAY" not in os.environ:
        sys.exit(__doc__)
    main(sys.argv[1])
