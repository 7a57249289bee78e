"""run --trace: one iteration in Chrome's trace format, its operations, and that no result knows of it."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from assay_cli import CliTest, run_tests, thorough  # noqa: E402

# What the document "Trace Event Format" asks of the JSON object form, of metadata and of complete events.
NUMBER_OR_NULL = {"type": ["integer", "null"], "minimum": 0}
FORM = {
    "type": "object",
    "required": ["traceEvents"],
    "properties": {
        "displayTimeUnit": {"enum": ["ms", "ns"]},
        "otherData": {"type": "object", "additionalProperties": {"type": "string"}},
        "traceEvents": {"type": "array", "minItems": 1, "items": {
            "type": "object",
            "required": ["ph", "name", "pid", "tid", "args"],
            "properties": {"ph": {"enum": ["X", "M"]}, "name": {"type": "string", "minLength": 1},
                           "pid": {"type": "integer"}, "tid": {"type": "integer"}, "args": {"type": "object"}},
            "if": {"properties": {"ph": {"const": "M"}}},
            "then": {"properties": {
                "name": {"enum": ["process_name", "thread_name"]},
                "args": {"required": ["name"], "properties": {"name": {"type": "string", "minLength": 1}}}}},
            "else": {"required": ["cat", "ts", "dur"], "properties": {
                "cat": {"type": "string"}, "ts": {"type": "number", "minimum": 0},
                "dur": {"type": "number", "minimum": 0}}}}}}}
OPERATION = {
    "type": "object",
    "required": ["operator", "bytes", "flops", "bound", "share_of_bound"],
    "additionalProperties": False,
    "properties": {"operator": {"type": "string"}, "bytes": NUMBER_OR_NULL, "flops": NUMBER_OR_NULL,
                   "bound": {"enum": ["launch", "memory", "compute", "input", "none", "unknown"]},
                   "share_of_bound": {"type": ["number", "null"], "minimum": 0}}}

# One block of each kind; the residual goes with the product before it.
LAYER = ["norm rms_norm", "qkv linear", "rope rope", "attention attention", "out linear",
         "norm rms_norm", "gate linear", "up linear", "gated gate", "out linear"]


class Trace(CliTest):
    def run_traced(self, *words, device="cpu:0", **environment):
        path = os.path.join(self.folder, "trace.json")
        call = self.assay("run", *words, "--device", device, "--protocol", self.fast(), "--db", self.db, "--trace", path,
                          OMP_WAIT_POLICY="passive", **environment)
        self.assertEqual(call.status, 0, call.err)
        with open(path, encoding="utf-8") as file:
            trace = json.load(file)
        self.assert_form(trace)
        return trace["traceEvents"]

    def assert_form(self, trace):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        jsonschema.Draft202012Validator(FORM).validate(trace)
        for event in trace["traceEvents"]:
            if event["ph"] == "X" and event["cat"] != "iteration":
                jsonschema.Draft202012Validator(OPERATION).validate(event["args"])

    def tracks(self, events, process=1):
        """The name of the process, and the complete events of each of its threads, by its name."""
        of = [event for event in events if event["pid"] == process]
        names = {event["tid"]: event["args"]["name"] for event in of if event["name"] == "thread_name"}
        (name,) = (event["args"]["name"] for event in of if event["name"] == "process_name")
        found = {thread: [] for thread in names.values()}
        for event in of:
            if event["ph"] == "X":
                found[names[event["tid"]]].append(event)
        return name, found

    def assert_ends_meet(self, tracks):
        """One operation begins where the one before ended, and all together are the iteration."""
        (iteration,) = tracks["iteration"]
        self.assertTrue(iteration["args"]["outside_timed_window"])
        end = 0
        for event in sorted(tracks["copies"] + tracks["operations"], key=lambda event: event["ts"]):
            self.assertAlmostEqual(event["ts"], end, places=2)
            end = event["ts"] + event["dur"]
        self.assertAlmostEqual(iteration["dur"], end, places=2)
        self.assertGreater(end, 0)
        return iteration["args"]

    def counted(self, workload, index=0):
        return self.assay("describe", workload, "--json").json()["costs"][index]

    def sum_of(self, operations, quantity):
        return sum(event["args"][quantity] for event in operations)

    @thorough
    def test_pass(self):
        """The operations of a Llama in their order, with the declared FLOPs."""
        name, tracks = self.tracks(self.run_traced("llama_tiny_pass", "--precision", "fp32", "--batch", "1"))
        self.assertEqual(name, "llama_tiny_pass fp32 batch 1 on cpu:0")
        self.assert_ends_meet(tracks)
        found = [event["name"].partition(".")[2] + " " + event["args"]["operator"] for event in tracks["operations"]]
        self.assertEqual(found, ["embedding embedding"] + LAYER * 2 + ["norm rms_norm", "head linear"])
        self.assertEqual(self.sum_of(tracks["operations"], "flops"), self.counted("llama_tiny_pass")["flops"])
        # Products of 64 rows with a matrix (64, 128), in fp32.
        (qkv, _) = (event for event in tracks["operations"] if event["name"].endswith(".qkv"))
        self.assertEqual((qkv["args"]["flops"], qkv["args"]["bytes"]), (2 * 32 * 64 * 128, 4 * (32 * 64 + 64 * 128 + 32 * 128)))
        # Nothing in the database bounds an operation.
        self.assertEqual({event["args"]["bound"] for event in tracks["operations"]}, {"unknown"})

    def test_results_are_without(self):
        """Records and trials are those of a run without; what marks no operations is one."""
        def recorded():
            return self.query("SELECT type, count(*) FROM record GROUP BY type"), self.query(
                "SELECT c.workload, precision, seed, flops, bytes, g.plan FROM cell c JOIN campaign g ON g.id = c.campaign")

        self.assertEqual(self.run_synthetic("--order-seed", "1").status, 0)
        before = recorded()
        self.new_db()
        events = self.run_traced("synthetic", "--order-seed", "1", device="null:0")
        self.assertEqual(recorded(), before)
        _, tracks = self.tracks(events)
        (whole,) = tracks["operations"]
        self.assertEqual(whole["name"], "synthetic")
        self.assertGreaterEqual(whole["dur"], 1000) # a launch of ASSAY_NULL
        self.assert_ends_meet(tracks)
        self.assertEqual(self.assay("verify", self.db).status, 0)

    def test_refused(self):
        for words, message in (
                (("synthetic_server", "--device", "null:0", "--protocol", "serving_look"), "runs under load"),
                (("synthetic", "--device", "null:0", "--plan-only"), "--plan-only runs nothing")):
            call = self.assay("run", *words, "--db", self.db, "--trace", "trace.json")
            self.assertNotEqual(call.status, 0, call.out)
            self.assertIn(message, " ".join(call.err.split()))
        self.assertFalse(os.path.exists(self.db))
        call = self.run_synthetic("--trace", "missing/trace.json")
        self.assertNotEqual(call.status, 0)
        self.assertIn("missing", call.err)
        # The trials are there, and the trace can be written later.
        call = self.assay("run", "--resume", "last", "--db", self.db, "--trace", "trace.json")
        self.assertEqual(call.status, 0, call.err)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "trace.json")))

    @thorough
    def test_bounds(self):
        """By results of the same device and database: of copies, products and launches."""
        events = self.run_traced("llama_tiny_pass", "copy", "gemm_512", "launch_queued", "--precision", "fp32")
        ran = {}
        for event in events:
            if event["name"] == "process_name":
                name, tracks = self.tracks(events, event["pid"])
                rates = self.assert_ends_meet(tracks)
                for rate in ("bytes_per_second", "flops_per_second", "launches_per_second"):
                    self.assertGreater(rates[rate], 0)
                ran[name.split()[0]] = tracks["operations"], rates
        (copy,), rates = ran["copy"]
        seconds = copy["dur"] / 1e6
        self.assertAlmostEqual(copy["args"]["share_of_bound"], copy["args"]["bytes"] / rates["bytes_per_second"] / seconds)
        self.assertEqual(copy["args"]["bound"], "memory" if copy["args"]["share_of_bound"] >= 0.1 else "none")
        operations, rates = ran["llama_tiny_pass"]
        for event in operations:
            args = event["args"]
            least = {"memory": args["bytes"] / rates["bytes_per_second"],
                     "compute": args["flops"] / rates["flops_per_second"],
                     "launch": 1 / rates["launches_per_second"]}
            share = max(least.values()) * 1e6 / event["dur"]
            self.assertAlmostEqual(args["share_of_bound"], share)
            self.assertEqual(args["bound"], max(least, key=least.get) if share >= 0.1 else "none")

    @thorough
    def test_step(self):
        """Copies of tokens from the host, forward, backward and the update; the FLOPs are the declared ones."""
        _, tracks = self.tracks(self.run_traced("llama_tiny_step", "--precision", "fp32", "--batch", "1"))
        self.assert_ends_meet(tracks)
        (copy,) = tracks["copies"]
        self.assertEqual((copy["name"], copy["ts"], copy["args"]["bound"]), ("tokens", 0, "input"))
        operators = [event["args"]["operator"] for event in tracks["operations"]]
        self.assertEqual((operators[0], operators[-1]), ("embedding", "adamw"))
        self.assertLess(operators.index("cross_entropy"), operators.index("weight_gradient"))
        self.assertEqual(self.sum_of(tracks["operations"], "flops"), self.counted("llama_tiny_step")["flops"])
        self.assertEqual([event["name"] for event in tracks["operations"] if event["args"]["bytes"] is None],
                         [event["name"] for event in tracks["operations"] if event["args"]["operator"] == "embedding_gradient"])

    @thorough
    def test_decode(self):
        """The bytes are at least those that a token must read, of weights in few bits, too, and not twice as many."""
        for workload in ("llama_tiny_decode", "llama_tiny_decode_int4"):
            with self.subTest(workload=workload):
                _, tracks = self.tracks(self.run_traced(workload, "--precision", "fp32", "--batch", "1"))
                counted = self.counted(workload)
                self.assert_ends_meet(tracks)
                self.assertEqual(self.sum_of(tracks["operations"], "flops"), counted["flops"])
                moved = self.sum_of(tracks["operations"], "bytes")
                self.assertGreaterEqual(moved, counted["bytes"])
                self.assertLess(moved, 2 * counted["bytes"])

    @thorough
    def test_experts(self):
        """What experts read depends on the routing: the trace leaves it out."""
        _, tracks = self.tracks(self.run_traced("moe_tiny_decode", "--precision", "fp32", "--batch", "1"))
        self.assert_ends_meet(tracks)
        products = [event for event in tracks["operations"] if event["args"]["operator"] == "expert_product"]
        self.assertGreater(len(products), 0)
        for event in products:
            self.assertIsNone(event["args"]["bytes"])
            self.assertEqual(event["args"]["bound"], "unknown")


if __name__ == "__main__":
    run_tests()
