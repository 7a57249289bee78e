"""The second verifier's part for quotes of TPMs: see verify.py, and "Quotes" in results/FORMAT.md."""

import base64
import hashlib
import struct

MARK, LOCALITY = b"Spec ID Event03\0", b"StartupLocality\0"


class Bad(Exception):
    """It is no quote, or not a good one."""


def need(holds, what):
    if not holds:
        raise Bad(what)


class Bytes:
    """A cursor; `order` is that of struct."""

    def __init__(self, data, order):
        self.data, self.order, self.at = data, order, 0

    def take(self, size):
        need(self.at + size <= len(self.data), "it ends early")
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, letter):
        return struct.unpack(self.order + letter, self.take(struct.calcsize(letter)))[0]


def key_of(pem):
    """The public key, and the SHA-256 of its DER."""
    from cryptography.hazmat.primitives import serialization
    key = serialization.load_pem_public_key(pem)
    return key, hashlib.sha256(key.public_bytes(serialization.Encoding.DER,
                                                serialization.PublicFormat.SubjectPublicKeyInfo)).digest()


def check_signature(key, signature, message):
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, message, ec.ECDSA(hashes.SHA256()))
        else:
            key.verify(signature, message, padding.PKCS1v15(), hashes.SHA256())
    except InvalidSignature as error:
        raise Bad("its key has not signed it") from error


def replay(log):
    """PCR: value, of those that the log extends."""
    log, pcrs, start = Bytes(log, "<"), {}, bytes(32)
    need((log.number("I"), log.number("I"))[1] == 3, "the log begins with no header")
    log.take(20)
    header = Bytes(log.take(log.number("I")), "<")
    need(header.take(16) == MARK, "the log is in another form")
    header.take(8)
    sizes = dict((header.number("H"), header.number("H")) for _ in range(header.number("I")))
    while log.at < len(log.data):
        pcr, kind = log.number("I"), log.number("I")
        digests = {}
        for _ in range(log.number("I")):
            algorithm = log.number("H")
            need(algorithm in sizes, "a digest of no known kind")
            digests[algorithm] = log.take(sizes[algorithm])
        data = log.take(log.number("I"))
        if kind == 3:
            if pcr == 0 and data[:16] == LOCALITY and len(data) == 17 and 0 not in pcrs:
                start = bytes(31) + data[16:]
            continue
        need(pcr < 24 and len(digests.get(11, b"")) == 32, "an event without a SHA-256")
        pcrs[pcr] = hashlib.sha256(pcrs.get(pcr, start if pcr == 0 else bytes(32)) + digests[11]).digest()
    return pcrs


def read(text):
    """(nonce, SHA-256 of the key, clock in ms, resets) of a good quote."""
    lines = [line.split(" ") for line in text.splitlines()]
    parts = {name: base64.b64decode(data, validate=True) for name, data in lines}
    need(len(parts) == len(lines) and set(parts) | {"log"} == {"attest", "signature", "key", "pcrs", "log"}, "its lines")
    key, digest = key_of(parts["key"])
    check_signature(key, parts["signature"], parts["attest"])
    attest = Bytes(parts["attest"], ">")
    need((attest.number("I"), attest.number("H")) == (0xff544347, 0x8018), "no quote")
    attest.take(attest.number("H"))
    nonce = attest.take(attest.number("H"))
    clock, resets = attest.number("Q"), attest.number("I")
    attest.take(13)
    need((attest.number("I"), attest.number("H"), attest.number("B")) == (1, 11, 3), "other PCRs")
    mask = int.from_bytes(attest.take(3), "little")
    need(attest.take(attest.number("H")) == hashlib.sha256(parts["pcrs"]).digest(), "other values of PCRs")
    selected = [pcr for pcr in range(24) if mask >> pcr & 1]
    need(attest.at == len(attest.data) and selected and len(parts["pcrs"]) == 32 * len(selected), "its form")
    if "log" in parts:
        replayed = replay(parts["log"])
        need(set(replayed) & set(selected), "the log is of other PCRs")
        for place, pcr in enumerate(selected):
            need(replayed.get(pcr) in (None, parts["pcrs"][32 * place:32 * place + 32]), "the log leads to other values")
    return nonce, digest, clock, resets


def of_campaign(verifier, campaign):
    """(plan, end), each of quote, time of the head, and when it was kept, or None."""
    plan = end = None
    heads = {root: (utc_ns, kind) for root, utc_ns, kind in verifier.ask(
        "SELECT root, utc_ns, kind FROM checkpoint WHERE campaign = ?", campaign)}
    for number, kept, text in verifier.ask(
            "SELECT d.id, d.utc_ns, o.body FROM dump d JOIN content o ON o.digest = d.output WHERE d.campaign = ? AND"
            " d.tool = 'tpm2_quote' AND d.status = 'ok' AND o.body IS NOT NULL ORDER BY d.id", campaign):
        try:
            quote = read(text)
            need(quote[0] in heads, "its nonce is no head of the campaign")
            need(plan is None or plan[0][1] == quote[1], "it has another key")
        except (Bad, ValueError) as error:
            verifier.wrong("signature", "dump", number, str(error))
            continue
        head, kind = heads[quote[0]]
        if kind == "end":
            end = (quote, head, kept)
        else:
            plan = plan or (quote, head, kept)
    return plan, end


def check(verifier, wanted):
    """The quotes of each campaign; `wanted`: a key in PEM that must have signed them, or None."""
    for (campaign,) in verifier.ask("SELECT id FROM campaign"):
        plan, end = of_campaign(verifier, campaign)
        if plan and end and plan[0][3] == end[0][3]:
            elapsed = (end[0][2] - plan[0][2]) * 1e6
            if not (end[1] - plan[2]) * 0.675 - 2e9 <= elapsed <= (end[2] - plan[1]) * 1.325 + 2e9:
                verifier.wrong("signature", "campaign", campaign, "another time passed by the clock of its TPM")
        if wanted and (not plan or not end or plan[0][1] != key_of(wanted)[1]):
            verifier.wrong("signature", "campaign", campaign, "was not quoted by that TPM")
