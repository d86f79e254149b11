"""Reading foreign pickles without the pickle machine.

A pickle is a program for a small stack machine that may import and call anything, so `pickle.load` runs
whatever a file's maker wanted. This is another machine for the same language: it knows only the
instructions that put numbers, texts, tuples, lists and dictionaries together, and the few names of
`pickle_values`, none of which does anything. Whatever else is in the stream is refused by name.

joblib's files are such a pickle with the bytes of each array inside the stream, right after the
`NumpyArrayWrapper` that announces it.

A stream may use what it memoised as often as it likes, so a small file can ask for a large thing many
times. Therefore what is *built* is counted, in bytes and in instructions, and not only what is read.
"""

from __future__ import annotations

import math
import pickletools
import struct
import zlib
from typing import TYPE_CHECKING, Any, Final

from core.errors import InputError, RefusedError
from core.files.phase_models.pickle_values import (
    ALLOWED,
    CALLS,
    CLASSES,
    Bag,
    Kind,
    Name,
    Shell,
    array_of,
    broken,
    refused,
    sizes_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable


MAX_STEPS = 200_000
MAX_BUILT = 128 * 2**20
MAX_NAME = 512
ITEM_BYTES = 128
OPCODES: Final = {each.code.encode("latin1"): each for each in pickletools.opcodes}
CONSTANTS: Final = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
NUMBERS: Final = {"BININT": "<i", "BININT1": "<B", "BININT2": "<H", "BINFLOAT": ">d"}
TEXTS: Final = {"SHORT_BINUNICODE": "<B", "BINUNICODE": "<I", "BINUNICODE8": "<Q"}
BYTES: Final = {"SHORT_BINBYTES": "<B", "BINBYTES": "<I", "BINBYTES8": "<Q"}


def read_pickle(data: bytes) -> Any:
    """Read a pickle or a joblib file that holds arrays, numbers and known classes only.

    Raises RefusedError if the stream asks for anything else; the sentence names it. Nothing was run;
    InputError if the file is damaged, too large, or compressed in an unsupported way.
    """
    try:
        return _Machine(unpacked(data)).run()
    except (IndexError, TypeError, ValueError, OverflowError, struct.error, RecursionError) as error:
        raise broken("its instructions do not fit together") from error


class _Machine:
    """The stack machine: `run` goes through the instructions until STOP."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._built = 0

    def run(self) -> Any:
        for _ in range(MAX_STEPS):
            code = self._take(1)
            opcode = OPCODES.get(code)
            if opcode is None:
                raise broken("it is not a pickle")
            if opcode.name == "STOP":
                return _finished(self._pop())
            self._do(opcode.name)
        raise broken("it has too many instructions")

    def _do(self, name: str) -> None:
        if name in CONSTANTS:
            self._stack.append(CONSTANTS[name])
        elif name in NUMBERS:
            self._stack.append(self._number(NUMBERS[name]))
        elif name in TEXTS:
            self._stack.append(self._text(self._number(TEXTS[name])))
        elif name in BYTES:
            self._stack.append(self._taken(self._number(BYTES[name])))
        elif name in INSTRUCTIONS:
            INSTRUCTIONS[name](self)
        else:
            raise refused(f"the instruction {name}")

    def _take(self, count: int) -> bytes:
        part = self._data[self._at : self._at + count]
        if len(part) < count:
            raise broken("it ends too early")
        self._at += count
        return part

    def _taken(self, count: int) -> bytes:
        """Bytes that are kept: they count as built."""
        self._count(min(count, len(self._data)))
        return self._take(count)

    def _text(self, count: int) -> str:
        # one rare character makes all others of a text take four bytes
        self._count(4 * min(count, len(self._data)))
        return self._take(count).decode("utf-8")

    def _count(self, n_bytes: int) -> None:
        """Count values before they are built.

        Raises InputError if all together is more than any model needs.
        """
        self._built += n_bytes
        if self._built > MAX_BUILT:
            raise broken(f"what is in it takes more than {MAX_BUILT // 2**20} MiB")

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _line(self) -> str:
        end = self._data.find(b"\n", self._at, self._at + MAX_NAME)
        if end < 0:
            raise broken("a name in it does not end")
        text = self._data[self._at : end].decode("utf-8")
        self._at = end + 1
        return text

    def _pop(self) -> Any:
        if self._marks and len(self._stack) <= self._marks[-1]:
            raise broken("its instructions do not fit together")
        return self._stack.pop()

    def _since_mark(self) -> list[Any]:
        mark = self._marks.pop()
        values = self._stack[mark:]
        del self._stack[mark:]
        return values

    def proto(self) -> None:
        version = self._number("<B")
        if not 2 <= version <= 5:
            raise broken(f"its pickle protocol {version} is not known")

    def frame(self) -> None:
        self._number("<Q")

    def mark(self) -> None:
        self._marks.append(len(self._stack))

    def long1(self) -> None:
        self._stack.append(int.from_bytes(self._take(self._number("<B")), "little", signed=True))

    def empty_list(self) -> None:
        self._stack.append([])

    def empty_dict(self) -> None:
        self._stack.append({})

    def append(self) -> None:
        self._extend([self._pop()])

    def appends(self) -> None:
        self._extend(self._since_mark())

    def _extend(self, values: list[Any]) -> None:
        if type(self._stack[-1]) is not list:
            raise refused("adding to something that is not a list")
        self._stack[-1].extend(values)

    def setitem(self) -> None:
        value = self._pop()
        self._update([self._pop(), value])

    def setitems(self) -> None:
        self._update(self._since_mark())

    def _update(self, values: list[Any]) -> None:
        if type(self._stack[-1]) is not dict:
            raise refused("setting an item of something that is not a dictionary")
        for key, value in zip(values[::2], values[1::2], strict=True):
            if type(key) is not str:
                raise refused("a dictionary whose keys are not texts")
            self._stack[-1][key] = value

    def tuple_since_mark(self) -> None:
        self._stack.append(tuple(self._since_mark()))

    def tuple_of(self, count: int) -> None:
        self._stack.append(tuple([self._pop() for _ in range(count)][::-1]))

    def memoize(self) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def put(self, form: str) -> None:
        self._memo[self._number(form)] = self._stack[-1]

    def get(self, form: str) -> None:
        place = self._number(form)
        if place not in self._memo:
            raise broken("its instructions do not fit together")
        self._stack.append(self._memo[place])

    def name_in_lines(self) -> None:
        self._name(self._line(), self._line())

    def name_on_stack(self) -> None:
        name, module = self._pop(), self._pop()
        if type(name) is not str or type(module) is not str or len(name) + len(module) > MAX_NAME:
            raise refused("a name that is not a short text")
        self._name(module, name)

    def _name(self, module: str, name: str) -> None:
        path = f"{module}.{name}"
        # a dotted name could walk from a module of the list to anything in it
        if "." in name or path not in ALLOWED:
            raise refused(f"“{path[:120]}”")
        self._stack.append(ALLOWED[path])

    def call(self) -> None:
        arguments, name = self._pop(), self._pop()
        if type(arguments) is not tuple or not isinstance(name, Name) or name.short not in CALLS:
            raise refused(f"calling {_quote(name)}")
        self._stack.append(CALLS[name.short](arguments))

    def new(self) -> None:
        arguments, name = self._pop(), self._pop()
        if (
            type(arguments) is not tuple
            or arguments
            or not isinstance(name, Name)
            or name.short not in CLASSES
        ):
            raise refused(f"making {_quote(name)}")
        self._stack.append(Bag(name))

    def build(self) -> None:
        state = self._pop()
        target = self._stack[-1]
        if not isinstance(target, Kind | Shell | Bag):
            raise refused(f"changing the state of {_quote(target)}")
        self._count(_weight(state))
        target.build(state)
        if isinstance(target, Bag) and target.name.short == "NumpyArrayWrapper":
            self._stack[-1] = self._inline_array(target.attributes)

    def _inline_array(self, wrapper: dict[str, Any]) -> Any:
        kind, order, subclass = wrapper.get("dtype"), wrapper.get("order"), wrapper.get("subclass")
        if not isinstance(kind, Kind) or order not in ("C", "F"):
            raise refused("an array of objects")
        if not isinstance(subclass, Name) or subclass.short != "ndarray":
            raise refused(f"an array of the class {_quote(subclass)}")
        if wrapper.get("numpy_array_alignment_bytes") is not None:
            self._take(self._number("<B"))
        shape = sizes_of(wrapper.get("shape"))
        size = math.prod(shape) * kind.dtype.itemsize
        self._count(min(size, len(self._data)))
        data = self._taken(size)
        return array_of(data, kind, shape, fortran=order == "F")


def _quote(thing: object) -> str:
    return f"“{thing.path}”" if isinstance(thing, Name) else f"a {type(thing).__name__}"


def _weight(state: object) -> int:
    """The cost of a state: bytes of an array, or a slot for each attribute."""
    if isinstance(state, tuple):
        return sum(len(part) for part in state[:8] if isinstance(part, bytes))
    return ITEM_BYTES * len(state) if isinstance(state, dict) else 0


def _finished(value: Any) -> Any:
    """Arrays in place of their shells, in the value itself and one level down."""
    if isinstance(value, Shell):
        return value.value
    items = value.attributes if isinstance(value, Bag) else value
    if isinstance(items, dict):
        items.update({key: part.value for key, part in items.items() if isinstance(part, Shell)})
    return value


INSTRUCTIONS: Final[dict[str, Callable[[_Machine], None]]] = {
    "PROTO": _Machine.proto,
    "FRAME": _Machine.frame,
    "MARK": _Machine.mark,
    "LONG1": _Machine.long1,
    "EMPTY_LIST": _Machine.empty_list,
    "EMPTY_DICT": _Machine.empty_dict,
    "APPEND": _Machine.append,
    "APPENDS": _Machine.appends,
    "SETITEM": _Machine.setitem,
    "SETITEMS": _Machine.setitems,
    "TUPLE": _Machine.tuple_since_mark,
    "TUPLE1": lambda machine: machine.tuple_of(1),
    "TUPLE2": lambda machine: machine.tuple_of(2),
    "TUPLE3": lambda machine: machine.tuple_of(3),
    "MEMOIZE": _Machine.memoize,
    "BINPUT": lambda machine: machine.put("<B"),
    "LONG_BINPUT": lambda machine: machine.put("<I"),
    "BINGET": lambda machine: machine.get("<B"),
    "LONG_BINGET": lambda machine: machine.get("<I"),
    "GLOBAL": _Machine.name_in_lines,
    "STACK_GLOBAL": _Machine.name_on_stack,
    "REDUCE": _Machine.call,
    "NEWOBJ": _Machine.new,
    "BUILD": _Machine.build,
}

__all__ = ["MAX_BYTES", "Bag", "RefusedError", "read_pickle", "unpacked"]


MAX_BYTES = 64 * 2**20
OTHER_PACKINGS = {
    b"PK": "zip",
    b"BZh": "bz2",
    b"\xfd7zXZ": "xz",
    b"]\x00\x00": "lzma",
    b"\x04\x22M\x18": "lz4",
}


def unpacked(data: bytes) -> bytes:
    """Undo zlib or gzip, up to `MAX_BYTES`.

    Raises InputError if the content is too large, damaged, or compressed in another way.
    """
    for sign, packing in OTHER_PACKINGS.items():
        if data.startswith(sign):
            raise InputError(
                f"The model file is compressed with {packing}, which is not supported.",
                "Decompress it first, or save it again with joblib without compression.",
            )
    if data[:1] == b"\x78" or data[:2] == b"\x1f\x8b":
        data = _inflated(data)
    if len(data) > MAX_BYTES:
        raise _too_large()
    return data


def _inflated(data: bytes) -> bytes:
    inflate = zlib.decompressobj(wbits=47)
    try:
        plain = inflate.decompress(data, MAX_BYTES + 1)
    except zlib.error as error:
        raise broken("its compression is damaged") from error
    if len(plain) <= MAX_BYTES and not inflate.eof:
        raise broken("it ends too early")
    return plain


def _too_large() -> InputError:
    return InputError(
        f"The model file is larger than {MAX_BYTES // 2**20} MiB.",
        "A phase model is far smaller: check the file.",
    )
