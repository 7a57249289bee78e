"""libassay through its own headers: loading, calling, and structs as records."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
from typing import Any, Callable, Optional, Type, TypeVar

HERE = pathlib.Path(__file__).parent
SONAME = "libassay.so.0.2"
FOLDERS = ("lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu")
Made = TypeVar("Made")


class Error(Exception):
    """A call failed: `status` is a name as "not_found", `place` "FILE:LINE" of what is wrong in a file, or "".

    The message says what happened and what to do.
    """

    def __init__(self, message: str, status: str = "invalid", place: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.place = place


def installation() -> pathlib.Path:
    """The folder of program, library and headers: $ASSAY_PREFIX, or the one in this package."""
    return pathlib.Path(os.environ.get("ASSAY_PREFIX") or HERE / "native")


def program() -> pathlib.Path:
    """The file of the program `assay`."""
    return installation() / "bin" / "assay"


def declarations(text: str) -> str:
    """Of a public header the declarations alone, which is what cffi parses."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("\\\n", " ")
    return "\n".join(line for line in text.splitlines()
                     if not line.startswith("#") and line not in ('extern "C" {', "}"))


class Library:
    """The functions and types of the public headers; one of a process (`library()`)."""

    def __init__(self) -> None:
        try:
            import cffi
        except ImportError as error:
            raise Error("libassay is called by cffi: pip install cffi", "unavailable") from error
        headers = installation() / "include" / "assay"
        self.ffi: Any = cffi.FFI()
        for name in ("error", "store", "estimate", "result", "compare", "verify", "call"):
            header = headers / f"{name}.h"
            if not header.is_file():
                raise Error(f"{header}: libassay's header is not there; install the wheel of assay, or "
                            "name an installation's prefix in ASSAY_PREFIX", "unavailable")
            self.ffi.cdef(declarations(header.read_text(encoding="utf-8")))
        self.c = self.ffi.dlopen(str(self._file()))

    def _file(self) -> pathlib.Path:
        for folder in FOLDERS:
            file = installation() / folder / SONAME
            if file.is_file():
                return file
        raise Error(f"{installation()}: there is no {SONAME} in {', '.join(FOLDERS)}", "unavailable")

    def text(self, pointer: Any) -> Optional[str]:
        """A C string; None for NULL. Names in files may hold any bytes."""
        if pointer == self.ffi.NULL:
            return None
        return str(self.ffi.string(pointer).decode("utf-8", "surrogateescape"))

    def taken(self, pointer: Any) -> Optional[str]:
        """As `text`, of a string that is the caller's to free."""
        try:
            return self.text(pointer)
        finally:
            self.c.assay_free(pointer)

    def bytes(self, value: Any) -> Any:
        """An argument `const char *`; NULL for None."""
        if value is None:
            return self.ffi.NULL
        encoded = os.fsencode(value)
        if b"\0" in encoded:
            raise Error(f"{value!r} has a zero byte, at which C's texts end: take it out")
        return self.ffi.new("char[]", encoded)

    def check(self, status: int) -> None:
        """Raises Error unless a call went well."""
        if status != 0:
            raise Error(self.text(self.c.assay_error_message()) or "",
                        self.text(self.c.assay_status_name(status)) or "",
                        self.text(self.c.assay_error_place()) or "")

    def options(self, name: str, values: dict[str, Any]) -> tuple[Any, list[Any]]:
        """A struct of options with its size and what is not None; and what must outlive it."""
        options = self.ffi.new(f"struct {name} *")
        options.size = self.ffi.sizeof(f"struct {name}")
        kept = [options]
        for key, value in values.items():
            if value is None:
                continue
            if isinstance(value, (str, os.PathLike)):
                value = self.bytes(value)
                kept.append(value)
            setattr(options, key, value)
        return options, kept

    def record(self, made: Type[Made], pointer: Any, **more: Any) -> Made:
        """The struct behind a pointer as a dataclass of the same members; `more` are those of the latter alone."""
        names = {field.name for field in dataclasses.fields(made)}  # type: ignore[arg-type]
        members = {}
        for name, member in self.ffi.typeof(pointer[0]).fields:
            if name not in names or name in more:
                continue
            value = getattr(pointer, name)
            members[name] = self.text(value) if member.type.cname == "char *" else value
        return made(**members, **more)

    def each(self, at: Callable[[int], Any]) -> list[Any]:
        """The pointers that at(0), at(1) ... give until NULL."""
        found: list[Any] = []
        while (pointer := at(len(found))) != self.ffi.NULL:
            found.append(pointer)
        return found

    def progress(self, signature: str, report: Callable[..., Any]) -> tuple[Any, list[BaseException]]:
        """A C callback that ends the call where `report` returns False or raises, and what it raised."""
        raised: list[BaseException] = []

        def called(_context: Any, *arguments: Any) -> bool:
            try:
                return report(*arguments) is not False
            except BaseException as error:  # noqa: BLE001: raised again after the call (KeyboardInterrupt, too)
                raised.append(error)
                return False

        return self.ffi.callback(signature, called), raised


_library: list[Library] = []


def library() -> Library:
    """The library, loaded at the first call."""
    if not _library:
        _library.append(Library())
    return _library[0]
