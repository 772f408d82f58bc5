"""What variables and tensors are called at one place of the program, and where tensors are.

Scopes are values: entering a loop or a buffer makes a new one. No C statements are written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from itertools import product

from msgspec import Struct, field

from morello.codegen.c.names import unique
from morello.errors import MorelloError
from morello.ir.programs.tree import Affine, Loop, Tensor, View
from morello.records import replace

ALIGNMENT = 64


class Memory(Struct, frozen=True):
    """A tensor that C can index: ``name[linear]``."""

    tensor: Tensor
    name: str

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements between neighbours, by logical dimension, within a panel."""
        return self.tensor.layout.strides(self.tensor.shape)

    @property
    def apart(self) -> Mapping[int, int]:
        """Elements from one panel to the next, along each dimension that is cut into them."""
        return self.tensor.layout.apart(self.tensor.shape)


class Registers(Struct, frozen=True):
    """A tensor in named scalars, ``name_ROW_VECTOR``; ``lanes`` elements each."""

    tensor: Tensor
    name: str
    lanes: int

    def register(self, index: tuple[int, ...]) -> str:
        """Name of the register whose first lane is this element."""
        fastest = self.tensor.layout.fastest
        parts = (i // self.lanes if d == fastest else i for d, i in enumerate(index))
        return "_".join((self.name, *map(str, parts)))

    def every(self) -> Iterator[str]:
        """Names of all registers, row by row."""
        fastest = self.tensor.layout.fastest
        axes = (
            range(0, n, self.lanes if d == fastest else 1) for d, n in enumerate(self.tensor.shape)
        )
        return (self.register(index) for index in product(*axes))


Storage = Memory | Registers


def size_in_bytes(tensor: Tensor) -> int:
    """Bytes of a tensor in memory, rounded up to whole lines of `ALIGNMENT`."""
    size = tensor.layout.elements(tensor.shape) * tensor.dtype.bytes
    return -(-size // ALIGNMENT) * ALIGNMENT


class NextTile(Struct, frozen=True):
    """What iterations of ``loop`` fetch; ``view`` is where the next tile is.

    ``pieces`` are its extents in memory, (how many, bytes apart); of neighbours in a line, the
    lines. Each iteration takes ``share`` of those of the piece number ``divided``.
    """

    view: View
    loop: Loop
    pieces: tuple[tuple[int, int], ...]
    divided: int
    share: int


class CScope(Struct, frozen=True):
    """Names and space in use.

    ``variables`` maps a loop's variable to its C name, or to its value where the loop is unrolled,
    outermost first; ``steps`` those with a name to what divides them, ``ends`` to where they end;
    ``tensors`` a tensor to its storage. ``stack`` counts the bytes of arrays on the stack,
    ``workspace`` those in use from ``base``, a C expression of type ``unsigned char *``;
    ``previous`` is the iteration before that of the innermost parallel loop; ``prepared`` says that
    what kernels have to stand between is around this place; ``prefetched`` are the tiles that loops
    here prefetch.
    """

    variables: Mapping[str, str | int] = field(default_factory=dict)
    steps: Mapping[str, int] = field(default_factory=dict)
    ends: Mapping[str, int] = field(default_factory=dict)
    tensors: Mapping[Tensor, Storage] = field(default_factory=dict)
    taken: frozenset[str] = frozenset()
    stack: int = 0
    workspace: int = 0
    base: str = "(unsigned char *)workspace"
    previous: str = ""
    prepared: bool = False
    prefetched: tuple[NextTile, ...] = ()

    def fresh(self, text: str) -> str:
        """A C name that nothing visible here has."""
        return unique(text, self.taken)

    def with_variable(self, variable: str, name: str, step: int, end: int) -> CScope:
        """Inside a loop, whose variable is a multiple of ``step`` below ``end``."""
        return replace(
            self,
            variables={**self.variables, variable: name},
            steps={**self.steps, variable: step},
            ends={**self.ends, variable: end},
            taken=self.taken | {name},
        )

    def with_previous(self, previous: str) -> CScope:
        """Inside a parallel loop."""
        return replace(self, previous=previous)

    def with_value(self, variable: str, value: int) -> CScope:
        """Inside one copy of an unrolled loop's body."""
        return replace(self, variables={**self.variables, variable: value})

    def with_memory(self, tensor: Tensor) -> CScope:
        """Where a tensor in memory is visible."""
        name = self.fresh(tensor.name)
        return self._with(tensor, Memory(tensor, name), {name})

    def with_registers(self, tensor: Tensor) -> CScope:
        """Where a tensor in registers is visible; none of its scalars hides another name."""
        lanes = tensor.vector // tensor.dtype.bytes
        tried: frozenset[str] = frozenset()
        while True:
            registers = Registers(tensor, unique(tensor.name, self.taken | tried), lanes)
            names = frozenset(registers.every())
            if not names & self.taken:
                break
            tried |= {registers.name}
        return self._with(tensor, registers, names | {registers.name})

    def _with(self, tensor: Tensor, storage: Storage, names: Set[str]) -> CScope:
        if tensor in self.tensors:
            raise MorelloError(
                f"the program has two tensors '{tensor.name}' at once that nothing tells apart",
                help="the program tree is malformed; report the rule that made it",
            )
        tensors = {**self.tensors, tensor: storage}
        return replace(self, tensors=tensors, taken=self.taken | names)

    @property
    def place(self) -> str:
        """C expression of where free workspace begins."""
        return f"{self.base} + {self.workspace}" if self.workspace else self.base

    def with_base(self, name: str) -> CScope:
        """Inside a parallel loop whose threads each have a part of the workspace."""
        return replace(self, base=name, workspace=0, taken=self.taken | {name})

    def using(self, stack: int = 0, workspace: int = 0) -> CScope:
        """With so many more bytes in use."""
        return replace(self, stack=self.stack + stack, workspace=self.workspace + workspace)

    def name_of(self, tensor: Tensor) -> str:
        """C name of a tensor."""
        return self.storage(tensor).name

    def storage(self, tensor: Tensor) -> Storage:
        """Where a tensor is.

        Raises:
            MorelloError: if the program uses a tensor outside the buffer's life.
        """
        found = self.tensors.get(tensor)
        if found is None:
            raise MorelloError(
                f"the program uses '{tensor.name}' where no such tensor is live",
                help="the program tree is malformed; report the rule that made it",
            )
        return found

    def split(self, affine: Affine, width: int) -> tuple[Affine, Affine, bool]:
        """An offset along panels of this width: multiples of it, the rest, whether that is less.

        It is not where a loop takes steps that are no multiple of the width from panel to panel.
        """
        constant = affine.constant
        across: list[tuple[str, int]] = []
        within: list[tuple[str, int]] = []
        for variable, factor in affine.terms:
            value = self.variables.get(variable)
            if isinstance(value, int):
                constant += factor * value
            else:
                fits = factor * self.steps.get(variable, 1) % width == 0
                (across if fits else within).append((variable, factor))
        rest = constant % width
        # The largest rest: every variable has its last value.
        last = rest + sum(f * (self.ends.get(v, 1) - self.steps.get(v, 1)) for v, f in within)
        return Affine(constant - rest, tuple(across)), Affine(rest, tuple(within)), last < width

    def resolve(self, affine: Affine) -> tuple[int, dict[str, int]]:
        """The constant, and the factor of each C variable, outermost loop first.

        Raises:
            MorelloError: if a variable belongs to no loop around this place.
        """
        factors = dict(affine.terms)
        unknown = sorted(factors.keys() - self.variables.keys())
        if unknown:
            raise MorelloError(
                f"the program uses the loop variable '{unknown[0]}' outside its loop",
                help="the program tree is malformed; report the rule that made it",
            )
        constant, terms = affine.constant, {}
        for variable, value in self.variables.items():
            factor = factors.get(variable, 0)
            if isinstance(value, int):
                constant += factor * value
            elif factor:
                terms[value] = factor
        return constant, terms


def c_sum(constant: int, terms: Mapping[str, int]) -> str:
    """A linear expression in C, such as ``m * 512 + k + 3``."""
    text = " + ".join(
        name if factor == 1 else f"{name} * {factor}" for name, factor in terms.items()
    )
    if not text:
        return str(constant)
    if constant == 0:
        return text
    return f"{text} {'+' if constant > 0 else '-'} {abs(constant)}"
