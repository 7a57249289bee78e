#!/usr/bin/env python3
"""Signed provenance of a release: which files a source gives whoever builds it (in-toto Statement v1, SLSA
provenance v1, in a DSSE envelope, one line), for `assay verify --releases`.

usage: reproducible_build.sh SOURCE BUILD | provenance.py --key FILE --source URI --commit HEX --builder URI --name NAME

Reads lines of sha256sum, which tests/support/reproducible_build.sh prints of what two builds gave alike. The key is a
file of `assay key new` without a passphrase; openssl signs. NAME goes before each file's: assay-0.2.0.
"""

import argparse
import base64
import json
import re
import subprocess
import sys
import tempfile

PAYLOAD = "application/vnd.in-toto+json"
PKCS8 = bytes.fromhex("302e020100300506032b657004220420")  # of an Ed25519 seed, which follows (RFC 8410)


def statement(asked, sums):
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "%s/%s" % (asked.name, name), "digest": {"sha256": digest}} for digest, name in sums],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:assay:build:reproducible:1",
                "externalParameters": {"source": asked.source, "commit": asked.commit},
                "resolvedDependencies": [{"uri": asked.source, "digest": {"gitCommit": asked.commit}}]},
            "runDetails": {"builder": {"id": asked.builder}}}}


def sign(seed, message):
    with tempfile.NamedTemporaryFile() as key, tempfile.NamedTemporaryFile() as text:
        for file, content in ((key, PKCS8 + seed), (text, message)):
            file.write(content)
            file.flush()
        return subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-keyform", "DER", "-inkey", key.name, "-in",
                               text.name], check=True, stdout=subprocess.PIPE).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    for name in ("key", "source", "commit", "builder", "name"):
        parser.add_argument("--" + name, required=True)
    asked = parser.parse_args()
    sums = [re.fullmatch(r"([0-9a-f]{64}) [ *](\S+)", line.strip()) for line in sys.stdin]
    if not sums or not all(sums):
        parser.error("standard input: write lines of sha256sum")
    with open(asked.key, encoding="utf-8") as file:
        words = file.read().strip().split("+", 4)
    if words[:2] != ["PRIVATE", "KEY"]:
        parser.error("--key %s: is no key file without a passphrase" % asked.key)
    payload = json.dumps(statement(asked, [each.groups() for each in sums])).encode()
    seed = base64.b64decode(words[4])[1:]
    pae = b"DSSEv1 %d %s %d %s" % (len(PAYLOAD), PAYLOAD.encode(), len(payload), payload)
    print(json.dumps({"payloadType": PAYLOAD, "payload": base64.b64encode(payload).decode(), "signatures": [
        {"keyid": "%s+%s" % tuple(words[2:4]), "sig": base64.b64encode(sign(seed, pae)).decode()}]}))


if __name__ == "__main__":
    main()
