"""Sixteen float32 numbers as one value inside compiled kernels.

Numba has no vector type, and LLVM does not vectorise the short, dependent loops of an online CRBM by
itself: it must assume that every array may alias every other. Here a vector is a value of its own, so
sums stay in registers. The width is fixed at sixteen, one AVX-512 register; on machines with narrower
ones LLVM splits it. All arrays are flat float32 unless it is said; a position counts their numbers.

Numba's cache looks only at the age of the file that a kernel is in, so a change here or in `compiling.py`
must change `LANES_MARK` in the files with kernels too (a test sees to it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import models, register_model

from core.phases.kernels.compiling import FLAGS, inlined

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH = 16
F32 = np.float32

_FLOAT = ir.FloatType()
_INT32 = ir.IntType(32)
_VECTOR = ir.VectorType(_FLOAT, WIDTH)
_SHORTS = ir.VectorType(ir.IntType(16), WIDTH)


def intrinsic(build: Callable[..., Any]) -> Callable[..., Any]:
    """Make a kernel's instruction; kernels call it without the first argument, which Numba adds."""
    instruction: Callable[..., Any] = numba_intrinsic(build)
    return instruction


class LanesType(types.Type):
    """The Numba type of a vector of sixteen float32."""

    def __init__(self) -> None:
        super().__init__(name=f"float32x{WIDTH}")


LANES: Any = LanesType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, lanes_type: LanesType) -> None:
        super().__init__(manager, lanes_type, _VECTOR)  # type: ignore[no-untyped-call]


def _pointer(
    context: Any, builder: Any, array_type: Any, array: Any, position: Any, to: Any = _VECTOR
) -> Any:
    first = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(first, [position]), to.as_pointer())


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
def store_whole(typing_context: Any, array: Any, position: Any, value: Any) -> Any:  # noqa: ARG001
    """Write a vector of small whole numbers to an int16 array."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        whole = builder.trunc(builder.fptosi(args[2], ir.VectorType(_INT32, WIDTH)), _SHORTS)
        place = _pointer(context, builder, signature.args[0], args[0], args[1], _SHORTS)
        builder.store(whole, place, align=2)
        return context.get_dummy_value()

    return types.void(array, types.int64, LANES), build


@intrinsic
def pointer(typing_context: Any, address: Any) -> Any:  # noqa: ARG001
    """An array's address as what `numba.carray` makes the array of."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.inttoptr(args[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), build


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


def _choosing(comparison: str, summary: str) -> Any:
    def operation(typing_context: Any, left: Any, right: Any, yes: Any, no: Any) -> Any:  # noqa: ARG001
        def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
            return builder.select(builder.fcmp_ordered(comparison, args[0], args[1]), args[2], args[3])

        return LANES(LANES, LANES, LANES, LANES), build

    operation.__doc__ = summary
    return intrinsic(operation)


where_less = _choosing("<", "`yes` where left < right, else `no`, lane by lane.")
where_equal = _choosing("==", "`yes` where left = right, else `no`, lane by lane.")


@inlined
def sigmoid(x: Any) -> Any:
    """σ(x) = ½ + ½ tanh(x/2), tanh as Eigen's rational function of degrees 13 and 6; error below 2e-7."""
    t = larger(smaller(mul(x, spread(F32(0.5))), spread(F32(7.9))), spread(F32(-7.9)))
    u = mul(t, t)
    p = fused(spread(F32(-2.76076847742355e-16)), u, spread(F32(2.00018790482477e-13)))
    p = fused(p, u, spread(F32(-8.60467152213735e-11)))
    p = fused(p, u, spread(F32(5.12229709037114e-08)))
    p = fused(p, u, spread(F32(1.48572235717979e-05)))
    p = fused(p, u, spread(F32(6.37261928875436e-04)))
    p = fused(p, u, spread(F32(4.89352455891786e-03)))
    q = fused(spread(F32(1.19825839466702e-06)), u, spread(F32(1.18534705686654e-04)))
    q = fused(q, u, spread(F32(2.26843463243900e-03)))
    q = fused(q, u, spread(F32(4.89352518554385e-03)))
    half = spread(F32(0.5))
    return fused(half, div(mul(t, p), q), half)
