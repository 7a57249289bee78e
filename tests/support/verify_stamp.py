"""The second verifier's part for time stamps: who signed an RFC 3161 token. See verify.py.

Written from RFC 3161, RFC 5652 (CMS), RFC 5816 and RFC 5280; needs python3-cryptography.
"""

import datetime
import re

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding

import verify

SHA = {"608648016503040201": hashes.SHA256, "608648016503040202": hashes.SHA384,
       "608648016503040203": hashes.SHA512, "2b0e03021a": hashes.SHA1}
CONTENT_TYPE, MESSAGE_DIGEST = "2a864886f70d010903", "2a864886f70d010904"
SIGNING_CERTIFICATE, SIGNING_CERTIFICATE_2 = "2a864886f70d010910020c", "2a864886f70d010910022f"
TST_INFO = "2a864886f70d0109100104"
SIGNED_DATA = "2a864886f70d010702"
RSA, ECDSA, ED25519 = "2a864886f70d0101", "2a8648ce3d04", "2b6570"
INTEGER, OCTETS, OID, TIME, SEQUENCE, SET, CONTEXT = 0x02, 0x04, 0x06, 0x18, 0x30, 0x31, 0xA0
CHAIN_MAX = 10


def parts(data):
    """The elements of a DER sequence: (tag, content, the whole element)."""
    at, result = 0, []
    for tag, content in verify.der(data):
        length = len(content)
        head = 2 if length < 128 else 2 + (length.bit_length() + 7) // 8
        result.append((tag, content, data[at:at + head + length]))
        if data[at:at + 1] != bytes([tag]) or result[-1][2][head:] != content:
            raise ValueError("not in the one form of DER")
        at += head + length
    return result


def need(condition, what):
    if not condition:
        raise ValueError(what)


def algorithm(content):
    (oid, *parameters) = parts(content)
    need(oid[0] == OID and oid[1].hex() in SHA and [p[2] for p in parameters] in ([], [b"\5\0"]),
         "its digest is of an unknown kind")
    return SHA[oid[1].hex()]


def digest(kind, data):
    state = hashes.Hash(kind())
    state.update(data)
    return state.finalize()


def take(fields, *tags):
    """The contents of the first elements, which have these tags."""
    need([f[0] for f in fields[:len(tags)]] == list(tags), "it is of another form")
    return [f[1] for f in fields[:len(tags)]]


class Stamp:
    """The parts of a TimeStampToken, or of a TimeStampResp around one."""

    def __init__(self, token):
        (whole,) = take(parts(token), SEQUENCE)
        fields = parts(whole)
        if fields[0][0] == SEQUENCE:
            need(parts(fields[0][1])[0][:2] in ((INTEGER, b"\0"), (INTEGER, b"\1")), "it was not granted")
            fields = parts(take(fields, SEQUENCE, SEQUENCE)[1])
        kind, signed = take(fields, OID, CONTEXT)
        need(kind.hex() == SIGNED_DATA, "it is no signed data")
        fields = parts(take(parts(signed), SEQUENCE)[0])
        version, digests, wrapped = take(fields, INTEGER, SET, SEQUENCE)
        need(version == b"\3", "its signed data are of another version")
        kind, content = take(parts(wrapped), OID, CONTEXT)
        need(kind.hex() == TST_INFO, "it is no time stamp")
        (self.content,) = take(parts(content), OCTETS)
        self.certificates = [x509.load_der_x509_certificate(c[2]) for f in fields[3:-1]
                             if f[0] == CONTEXT for c in parts(f[1])]
        self.read_signer(parts(take(fields[-1:], SET)[0]))
        need(self.digest in [algorithm(d) for d in take(parts(digests), SEQUENCE)],
             "its digest is not among those it names")
        self.read_info()

    def read_signer(self, signers):
        need(len(signers) == 1, "it has not one signer")
        fields = parts(take(signers, SEQUENCE)[0])
        version, self.signer, kind, attributes, _, self.signature = take(
            fields, INTEGER, SEQUENCE, SEQUENCE, CONTEXT, SEQUENCE, OCTETS)
        need(version == b"\1", "its signer is of another version")
        self.digest = algorithm(kind)
        self.attributes = b"\x31" + fields[3][2][1:]
        pairs = [take(parts(a[1]), OID, SET) for a in parts(attributes)]
        self.values = {kind.hex(): value for kind, value in pairs}
        need(len(self.values) == len(pairs), "an attribute stands there twice")
        self.algorithm = parts(take(fields[4:], SEQUENCE)[0])[0][1].hex()

    def read_info(self):
        fields = parts(take(parts(self.content), SEQUENCE)[0])
        kind, self.imprint = take(parts(take(fields, INTEGER, OID, SEQUENCE)[2]), SEQUENCE, OCTETS)
        need(algorithm(kind) is hashes.SHA256, "it is of another digest")
        time = next(content for tag, content, _ in fields if tag == TIME).decode()
        self.time = datetime.datetime.strptime(time.split(".")[0].rstrip("Z"), "%Y%m%d%H%M%S").replace(
            tzinfo=datetime.timezone.utc)

    def certificate(self, others):
        """That of the signer, which the attributes name by its digest."""
        named = self.values.get(SIGNING_CERTIFICATE_2) or self.values.get(SIGNING_CERTIFICATE)
        need(named, "it does not name its certificate")
        first = parts(parts(parts(parts(named)[0][1])[0][1])[0][1])
        kind = hashes.SHA256 if SIGNING_CERTIFICATE_2 in self.values else hashes.SHA1
        if first[0][0] == 0x30:
            kind, first = algorithm(first[0][1]), first[1:]
        for certificate in self.certificates + others:
            if certificate.fingerprint(kind()) == first[0][1]:
                issuer, serial = parts(self.signer)
                need(issuer[2] == certificate.issuer.public_bytes() and
                     int.from_bytes(serial[1], "big") == certificate.serial_number,
                     "the signer is not the one whose certificate it names")
                return certificate
        raise ValueError("its certificate is not there")

    def check_signature(self, certificate):
        need(take(parts(self.values[CONTENT_TYPE]), OID) == [bytes.fromhex(TST_INFO)],
             "what was signed is no time stamp")
        need(parts(self.values[MESSAGE_DIGEST])[0][1] == digest(self.digest, self.content),
             "what was signed is another time stamp")
        check_signed(certificate.public_key(), self.algorithm, self.signature, self.attributes,
                     self.digest())


def check_signed(key, algorithm, signature, data, kind):
    if isinstance(key, rsa.RSAPublicKey) and algorithm.startswith(RSA):
        key.verify(signature, data, padding.PKCS1v15(), kind)
    elif isinstance(key, ec.EllipticCurvePublicKey) and algorithm.startswith(ECDSA):
        key.verify(signature, data, ec.ECDSA(kind))
    elif isinstance(key, ed25519.Ed25519PublicKey) and algorithm == ED25519:
        key.verify(signature, data)
    else:
        raise ValueError("its key is of an unknown kind")


def extension(certificate, kind):
    try:
        return certificate.extensions.get_extension_for_class(kind)
    except x509.ExtensionNotFound:
        return None


def may_stamp(certificate):
    purpose = extension(certificate, x509.ExtendedKeyUsage)
    usage = extension(certificate, x509.KeyUsage)
    need(purpose and purpose.critical and list(purpose.value) == [x509.ExtendedKeyUsageOID.TIME_STAMPING],
         "its certificate is not for time stamps")
    need(not usage or usage.value.digital_signature or usage.value.content_commitment,
         "its certificate is not for signatures")


def may_issue(certificate, below):
    """Whether it is an authority's, with at most so many authorities below it as there are."""
    basic, usage = extension(certificate, x509.BasicConstraints), extension(certificate, x509.KeyUsage)
    return basic and basic.value.ca and (not usage or usage.value.key_cert_sign) and \
        (basic.value.path_length is None or basic.value.path_length >= below)


def issued(certificate, issuer):
    try:
        if hasattr(certificate, "verify_directly_issued_by"):
            certificate.verify_directly_issued_by(issuer)
        else:  # before version 40
            need(certificate.issuer == issuer.subject, "another issued it")
            oid = parts(parts(certificate.public_bytes(Encoding.DER))[0][1])[1][1]
            check_signed(issuer.public_key(), parts(oid)[0][1].hex(), certificate.signature,
                         certificate.tbs_certificate_bytes, certificate.signature_hash_algorithm)
    except (InvalidSignature, ValueError, TypeError, UnsupportedAlgorithm):
        return False
    return True


def moment(certificate, name):
    """With its zone, which cryptography provides from version 42 on."""
    if hasattr(certificate, name + "_utc"):
        return getattr(certificate, name + "_utc")
    return getattr(certificate, name).replace(tzinfo=datetime.timezone.utc)


def check_chain(certificate, known, trusted, at):
    """From the signer's certificate to one that signs itself and is trusted, all valid at that time."""
    for depth in range(CHAIN_MAX):
        need(moment(certificate, "not_valid_before") <= at <= moment(certificate, "not_valid_after"),
             "a certificate was not valid at that time")
        if certificate in trusted and certificate.issuer == certificate.subject:
            return
        above = [c for c in trusted + known if may_issue(c, depth) and issued(certificate, c)]
        need(above, "nobody known issued a certificate of its")
        certificate = above[0]
    raise ValueError("its certificates have no end")


def check(token, root, authorities):
    """ValueError when this is not a stamp of `root` by an authority that these PEM bytes certify."""
    try:
        stamp = Stamp(token)
        # One by one: the function for all of them is newer than Debian 12.
        trusted = [x509.load_pem_x509_certificate(part) for part in re.findall(
            b"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", authorities, re.DOTALL)]
        need(stamp.imprint == root, "it is of another root")
        certificate = stamp.certificate(trusted)
        stamp.check_signature(certificate)
        may_stamp(certificate)
        check_chain(certificate, stamp.certificates, trusted, stamp.time)
    except InvalidSignature as error:
        raise ValueError("its signature is wrong") from error
    except (IndexError, KeyError, StopIteration, UnsupportedAlgorithm, x509.DuplicateExtension,
            x509.InvalidVersion) as error:
        raise ValueError("it cannot be read: %r" % error) from error
    return stamp.time
