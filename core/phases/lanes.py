"""Sixteen float32 numbers as one value inside compiled kernels.

Numba has no vector type, and LLVM does not vectorise the short, dependent loops of an online CRBM by
itself: it must assume that every array may alias every other. Here a vector is a value of its own, so
sums stay in registers. The width is fixed at sixteen, one AVX-512 register; on machines with narrower
ones LLVM splits it. Numba's cache looks at the age of `kernels.py` only, so a change here must change its
`LANES_MARK` too (a test sees to it). All arrays are flat float32; a position counts floats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import models, register_model

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH = 16
FLAGS = ("contract", "reassoc", "nsz")

_FLOAT = ir.FloatType()
_INT32 = ir.IntType(32)
_VECTOR = ir.VectorType(_FLOAT, WIDTH)


def intrinsic(build: Callable[..., Any]) -> Callable[..., Any]:
    """Make a kernel's instruction; kernels call it without the first argument, which Numba adds."""
    made: Callable[..., Any] = numba_intrinsic(build)
    return made


class LanesType(types.Type):
    """The Numba type of a vector of sixteen float32."""

    def __init__(self) -> None:
        super().__init__(name=f"float32x{WIDTH}")


LANES: Any = LanesType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes_type: LanesType) -> None:
        super().__init__(manager, lanes_type, _VECTOR)  # type: ignore[no-untyped-call]


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, position: Any) -> Any:
    first = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(first, [position]), _VECTOR.as_pointer())


@intrinsic
def load(typing_context: Any, array: Any, position: Any) -> Any:  # noqa: ARG001 - Numba's signature
    """``array[position:position + 16]`` as a vector."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _pointer(context, builder, signature.args[0], args[0], args[1])
        return builder.load(place, align=4)

    return LANES(array, types.int64), build


@intrinsic
def store(typing_context: Any, array: Any, position: Any, value: Any) -> Any:  # noqa: ARG001
    """Write a vector to ``array[position:position + 16]``."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _pointer(context, builder, signature.args[0], args[0], args[1]), align=4)
        return context.get_dummy_value()

    return types.void(array, types.int64, LANES), build


@intrinsic
def spread(typing_context: Any, value: Any) -> Any:  # noqa: ARG001
    """One number in all sixteen places."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        empty = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(empty, args[0], ir.Constant(_INT32, 0))
        return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(_INT32, WIDTH), [0] * WIDTH))

    return LANES(types.float32), build


def _pairwise(combine: Callable[[Any, Any, Any], Any], summary: str) -> Any:
    def operation(typing_context: Any, left: Any, right: Any) -> Any:  # noqa: ARG001
        def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
            return combine(builder, args[0], args[1])

        return LANES(LANES, LANES), build

    operation.__doc__ = summary
    return intrinsic(operation)


def _smaller(builder: Any, left: Any, right: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", left, right), left, right)


def _larger(builder: Any, left: Any, right: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", left, right), left, right)


add = _pairwise(lambda b, x, y: b.fadd(x, y, flags=FLAGS), "x + y, lane by lane.")
sub = _pairwise(lambda b, x, y: b.fsub(x, y, flags=FLAGS), "x − y, lane by lane.")
mul = _pairwise(lambda b, x, y: b.fmul(x, y, flags=FLAGS), "x · y, lane by lane.")
div = _pairwise(lambda b, x, y: b.fdiv(x, y, flags=FLAGS), "x / y, lane by lane.")
smaller = _pairwise(_smaller, "The smaller of x and y, lane by lane.")
larger = _pairwise(_larger, "The larger of x and y, lane by lane.")


@intrinsic
def fused(typing_context: Any, x: Any, y: Any, z: Any) -> Any:  # noqa: ARG001
    """X times y plus z, lane by lane; LLVM makes it one instruction where the machine has it."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.fadd(builder.fmul(args[0], args[1], flags=FLAGS), args[2], flags=FLAGS)

    return LANES(LANES, LANES, LANES), build
