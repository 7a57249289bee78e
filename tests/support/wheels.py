"""Wheels that no index has, made of given files."""

import base64
import hashlib
import os
import tempfile
import zipfile


def make_wheel(folder, name, version, files):
    """`files`: path -> bytes. Returns the wheel's SHA-256."""
    info = f"{name}-{version}.dist-info"
    files = dict(files)
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
    files[f"{info}/WHEEL"] = (b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
                              b"Tag: py3-none-any\n")
    record = "".join("{},sha256={},{}\n".format(
        path, base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode(), len(text))
        for path, text in files.items())
    path = os.path.join(folder, f"{name}-{version}-py3-none-any.whl")
    with zipfile.ZipFile(path, "w") as wheel:
        for inside, text in files.items():
            wheel.writestr(inside, text)
        wheel.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def share_wheels(case, name, files):
    """For all tests of a class: case.shared, a folder whose `wheels` has the versions 2.1.0 and 1.0.0, each of files(version),
    and case.digests, their SHA-256 by version."""
    folder = tempfile.TemporaryDirectory(prefix=f"assay-{name}-")
    case.addClassCleanup(folder.cleanup)
    case.shared, wheels = folder.name, os.path.join(folder.name, "wheels")
    os.mkdir(wheels)
    case.digests = {version: make_wheel(wheels, name, version, files(version)) for version in ("2.1.0", "1.0.0")}
