"""The second verifier's part for releases: see verify.py, and "Releases" in results/FORMAT.md."""

import base64
import json


def key_of(text):
    """The 32 bytes of a public key's text."""
    return base64.b64decode(text.strip().split("+", 2)[2])[1:]


def envelopes(text):
    decoder, text = json.JSONDecoder(), text.strip()
    while text:
        envelope, end = decoder.raw_decode(text)
        yield envelope
        text = text[end:].lstrip()


def read(text, key, signed):
    """The digests that statements name, all of which this key must have signed."""
    found = {}
    for envelope in envelopes(text):
        kind, payload = envelope["payloadType"], base64.b64decode(envelope["payload"], validate=True)
        pae = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
        statement = json.loads(payload)
        if kind != "application/vnd.in-toto+json" or not any(
                signed(key_of(key), base64.b64decode(each["sig"]), pae) for each in envelope["signatures"]):
            raise ValueError("a statement is not signed by that key")
        if (statement["_type"], statement["predicateType"]) != ("https://in-toto.io/Statement/v1",
                                                                "https://slsa.dev/provenance/v1"):
            raise ValueError("no provenance")
        for subject in statement["subject"]:
            found[bytes.fromhex(subject["digest"]["sha256"])] = subject["name"]
    return found


def check(verifier):
    """Every campaign was run by a release."""
    for number, digest in verifier.ask("SELECT id, tool_digest FROM campaign WHERE id NOT IN (SELECT campaign FROM"
                                       " import) OR id IN (SELECT campaign FROM trial)"):
        if digest not in verifier.releases:
            verifier.wrong("signature", "campaign", number, "was run by a program that is no known release")
