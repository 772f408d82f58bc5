"""Open operands: what they are asked is noted, what is handed on is not."""

from __future__ import annotations

from typing import cast

import numpy as np

from morello.ir.layout import contiguity, packed, paged, panel
from morello.ir.operators import Operation
from morello.ir.spec import Variant
from morello.records import replace
from morello.rewriting.tracked import (
    OF_OPERANDS,
    OPERATION,
    Property,
    TrackedPacking,
    property_values,
    tracked,
)
from tests.search.goals import matmul
from tests.search.machines import context

TARGET = context("x86.avx512").target
VARIANT = matmul(4, 4, 4).spec(TARGET).variant


def _opened() -> tuple[Variant, set[Property]]:
    read: set[Property] = set()
    return tracked(VARIANT, read), read


def test_an_answer_is_that_of_the_operand_and_is_noted() -> None:
    """What is asked of one operand is noted of that one."""
    variant, read = _opened()
    for position, own in enumerate(VARIANT.family.operands):
        operand = variant.family.operands[position]
        assert (operand.order, operand.dtype, operand.lanes) == (own.order, own.dtype, own.lanes)
        assert operand.moves_lines(TARGET) == own.moves_lines(TARGET)
        assert operand.addressable == own.addressable
    what = {"order", "dtype", "vector", "lines", "addressable"}
    assert read == {(p, w) for p in range(len(VARIANT.packing)) for w in what}


def test_what_is_known_of_a_changed_operand_is_not_asked() -> None:
    """At another level it does not matter where it was."""
    variant, read = _opened()
    near = TARGET.levels[0]
    moved = variant.family.operands[0].changed(level=near, weight=False)
    assert (moved.level, moved.weight, moved.addressable) == (near, False, near.addressable)
    assert moved.moves_lines(TARGET) == TARGET.moves_lines_from(near)
    assert not read
    assert moved.order == VARIANT.family.operands[0].order
    assert read == {(0, "order")}


def test_a_packing_is_noted_when_it_is_asked_for_and_not_when_it_is_handed_on() -> None:
    """The width of panels is a question of its own."""
    own = packed(2, 16)
    read: set[Property] = set()
    packing = cast(int, TrackedPacking(1, own, read))
    assert not read
    assert panel(packing) == 16
    assert read == {(1, "panel")}
    assert (contiguity(packing), paged(packing)) == (contiguity(own), paged(own))
    assert read == {(1, "panel"), (1, "packing")}
    assert packing == own
    assert np.where(np.asarray([True, False]), packing, 0).tolist() == [own, 0]


def test_answers_tell_variants_apart_by_what_was_asked() -> None:
    """Every question has an answer, which is another one where the operand differs in that."""
    first = VARIANT.family.operands[0]
    other = replace(
        VARIANT.family, operands=(replace(first, order=(1, 0)), *VARIANT.family.operands[1:])
    )
    properties = [(0, what) for what in sorted(OF_OPERANDS)]
    ours = dict(zip(properties, property_values(TARGET, VARIANT, properties), strict=True))
    theirs = dict(
        zip(
            properties,
            property_values(TARGET, other.variant(VARIANT.packing), properties),
            strict=True,
        )
    )
    assert {question for question in properties if ours[question] != theirs[question]} == {
        (0, "order")
    }


def test_an_operation_s_structure_is_not_asked_for_and_its_meaning_is() -> None:
    """How dimensions index operands is the same for all that share; what is computed is not."""
    variant, read = _opened()
    operation, own = variant.family.operation, VARIANT.family.operation
    assert (operation.dims, operation.operands) == (own.dims, own.operands)
    assert operation.reads(0)
    assert not read
    assert not operation.reads(2)
    assert read == {(OPERATION, "accumulating")}
    assert operation.operator is own.operator
    assert read == {(OPERATION, "accumulating"), (OPERATION, "itself")}


def test_operations_that_differ_in_names_alone_have_one_structure() -> None:
    """A matrix product by another name is another structure, where operands are indexed so."""
    operators = context("x86.avx512").operators

    def structure(name: str) -> object:
        return Operation(operators[name], 0).structure

    assert structure("row_max") == structure("row_sum")
    assert structure("matmul") != structure("matmul_nt")
