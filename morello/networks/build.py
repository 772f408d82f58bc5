"""From a network to the files of a C library that runs it."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct, to_builtins

from morello.compiler import compile_spec
from morello.definitions import Definitions
from morello.errors import MorelloError
from morello.ir.layout import Order
from morello.kernel import Kernel
from morello.memo.memo import Memo
from morello.networks.c_files import (
    Writer,
    arguments_of,
    check_types,
    constants_between,
    narrows,
    template,
)
from morello.networks.cutting import Named, chosen_cuts
from morello.networks.layouts import chosen_layouts
from morello.networks.loading import library
from morello.networks.memory import LINE, Arena, plan
from morello.networks.network import Network, Node
from morello.networks.partition import SEEN, Part, Step, partition
from morello.networks.saying import PartSpec, spec_of
from morello.networks.weights import Weights
from morello.records import replace
from morello.search.planning.budget import Budget
from morello.search.search import Progress
from morello.toolchain.machine import Machine

Report = Callable[[str], Callable[[Progress], None]]
"""Gives what takes the progress of one step's compile."""

Ahead = Callable[[Mapping[str, str]], Mapping[str, tuple[float, int]]]
"""Has specs searched, given by the names of their kernels, so that the memo answers when they are
compiled; gives the seconds and the Specs of those that it has searched."""


class Partition(Struct, frozen=True):
    """A row of the table of partitions: one kernel.

    Attributes:
        name: Of the kernel.
        nodes: The nodes that it was first compiled for, each as its operator and its name.
        calls: How often the network calls it.
        cycles: What a call takes, as predicted.
        seconds: How long it took to search and to compile.
        cells: How many Specs were searched for it.
        verified: Whether it was run and compared with the reference.
    """

    name: str
    nodes: tuple[str, ...]
    calls: int
    cycles: float
    seconds: float
    cells: int
    verified: bool

    @property
    def operators(self) -> str:
        """The operators of its nodes, each once, with how often it is there."""
        counts = Counter(node.split(" ")[0] for node in self.nodes)
        return ", ".join(o if count == 1 else f"{count} {o}" for o, count in counts.items())


class Library(Struct, frozen=True):
    """A network as files.

    Attributes:
        name: Of the network.
        contents: The files, by their paths below the network's directory.
        partitions: Its kernels.
        arena: Bytes that a call needs for what is computed on the way.
        weights: Bytes of all weights.
    """

    name: str
    contents: Mapping[str, str | bytes]
    partitions: tuple[Partition, ...]
    arena: int
    weights: int

    @property
    def cycles(self) -> float:
        """What all calls of kernels take, as predicted."""
        return sum(row.cycles * row.calls for row in self.partitions)


class Compiled(Struct, frozen=True):
    """A kernel, the part that it was first compiled for, and the spec of the one it is for now."""

    spec: PartSpec
    part: Part
    kernel: Kernel
    seconds: float
    cells: int


def build_library(
    network: Network,
    *,
    target: str,
    mark: str,
    definitions: Definitions,
    memo: Memo | None = None,
    threads: int = 1,
    budget: Budget | None = None,
    verify: bool = False,
    machine: Machine | None = None,
    progress: Report | None = None,
    ahead: Ahead | None = None,
) -> Library:
    """Compile a network.

    Args:
        network: Its nodes are those of `morello.networks.kinds`.
        target: Name of the target, or ``native``.
        mark: What the first line of each file says.
        definitions: Operators, rules and targets.
        memo: Where to look for what is solved already.
        threads: How many threads may share the work of a kernel.
        budget: How much the search of each kernel may do.
        verify: Whether each kernel is run and compared with the reference.
        machine: Where kernels are built and run. Weights are packed by running them.
        progress: Is asked for each kernel that is compiled, by a label.
        ahead: Is called once, with what most kernels' specs will be.

    Raises:
        MorelloError: The network computes nothing, or has tensors of a type that specs do not have;
            or as `morello.compile` and `morello.Kernel.verify`.
    """
    steps = [s for s in partition(network) if isinstance(s, Part) or s.operator not in SEEN]
    _check(network, steps)
    kernels = _Kernels(
        len(steps),
        verify,
        progress,
        target=target,
        definitions=definitions,
        memo=memo,
        budget=budget,
        machine=machine,
    )

    def said(part: Part, layouts: Mapping[str, Order]) -> PartSpec:
        return spec_of(part, network, layouts, threads=threads)

    def compiled(part: Part, name: str, layouts: Mapping[str, Order]) -> Compiled:
        return kernels.of(part, said(part, layouts), name)

    if ahead is not None:
        kernels.search(_likely(network, steps, said), ahead)
    named, layouts = _chosen(network, steps, lambda *asked: compiled(*asked).kernel.cost)
    steps = [step for step, _ in named]
    own = [compiled(s, name, layouts) if isinstance(s, Part) else None for s, name in named]
    return _Assembly(network, steps, own, mark).library()


def _chosen(
    network: Network, steps: Sequence[Step], cost: Callable[[Part, str, Mapping[str, Order]], float]
) -> tuple[list[Named], dict[str, Order]]:
    """How steps are cut, and how images lie between them, where ``cost`` is of a named kernel."""
    named = chosen_cuts(network, steps, lambda part, name: cost(part, name, {}))

    def of_step(place: int, layouts: Mapping[str, Order], suffix: str) -> float:
        part, name = named[place]
        assert isinstance(part, Part)
        return cost(part, name + suffix, layouts)

    return named, chosen_layouts(network, [step for step, _ in named], of_step)


def _likely(
    network: Network, steps: Sequence[Step], said: Callable[[Part, Mapping[str, Order]], PartSpec]
) -> dict[str, PartSpec]:
    """The specs of most kernels that will be asked for, by name, as far as no cost decides."""
    found: dict[str, tuple[str, PartSpec]] = {}

    def ask(part: Part, name: str, layouts: Mapping[str, Order]) -> float:
        spec = said(part, layouts)
        found.setdefault(spec.body, (name, spec))
        return 0.0

    named, layouts = _chosen(network, steps, ask)
    for step, name in named:
        if isinstance(step, Part):
            ask(step, name, layouts)
    return dict(found.values())


def _check(network: Network, steps: Sequence[Step]) -> None:
    """Demand that all steps can be written, before any takes time."""
    if not any(isinstance(step, Part) for step in steps):
        raise MorelloError(f"'{network.name}' computes nothing that needs a kernel")
    arguments_of(network)
    check_types(network, [step for step in steps if isinstance(step, Node)])
    for step in steps:
        if isinstance(step, Part):
            spec_of(step, network)


class _Kernels:
    """Compiles parts; those that are equal once."""

    def __init__(self, count: int, verify: bool, progress: Report | None, **options: Any) -> None:
        """``count``: how many steps there are; ``options``: those of `compile_spec`."""
        self._count = count
        self._verify = verify
        self._progress = progress
        self._options = options
        self._known: dict[str, Compiled] = {}
        self._ahead: dict[str, tuple[float, int]] = {}

    def search(self, specs: Mapping[str, PartSpec], ahead: Ahead) -> None:
        """Have specs searched before they are compiled."""
        searched = ahead({name: spec.text(name) for name, spec in specs.items()})
        self._ahead = {specs[name].body: how for name, how in searched.items()}

    def of(self, part: Part, spec: PartSpec, name: str) -> Compiled:
        """The kernel of a part, which has this name if no other part is equal."""
        known = self._known.get(spec.body)
        if known is None:
            started = time.monotonic()
            shown = None if self._progress is None else self._progress(f"{name} of {self._count}")
            kernel = compile_spec(spec.text(name), progress=shown, **self._options)
            if self._verify:
                kernel.verify()
            seconds, cells = self._ahead.get(spec.body, (0.0, 0))
            seconds += time.monotonic() - started
            cells += kernel.statistics.cells
            known = self._known[spec.body] = Compiled(spec, part, kernel, seconds, cells)
        return replace(known, spec=spec)


class _Assembly:
    """Puts the kernels of a network together."""

    def __init__(
        self,
        network: Network,
        steps: Sequence[Step],
        compiled: Sequence[Compiled | None],
        mark: str,
    ) -> None:
        """``compiled``: the kernel of each step that is a part."""
        self.network = network
        self.arguments = arguments_of(network)
        self.steps = steps
        self.compiled = compiled
        self.distinct = {own.kernel.name: own for own in compiled if own}
        self.kernels = [own.kernel for own in self.distinct.values()]
        self.mark = mark
        self.weights = Weights(f"weights, {mark}")

    @cached_property
    def arena(self) -> Arena:
        """Where everything lies."""
        signatures = [own.kernel.signature if own else None for own in self.compiled]
        workspaces = [s.workspace_bytes if s else 0 for s in signatures]
        return plan(self.network, self.steps, workspaces)

    @cached_property
    def partitions(self) -> tuple[Partition, ...]:
        """The table of kernels."""
        calls = Counter(own.kernel.name for own in self.compiled if own)
        return tuple(
            Partition(
                name,
                _called(own.part.nodes),
                calls[name],
                own.kernel.cost,
                round(own.seconds, 3),
                own.cells,
                own.kernel.verification is not None,
            )
            for name, own in self.distinct.items()
        )

    def library(self) -> Library:
        """All files."""
        name, steps, weights = self.network.name, self._steps(), self.weights
        shown = self._shown() | {"steps": steps, "header": [*weights.header]}
        shown |= {"weights": weights.bytes}
        sources = {
            f"kernels/{kernel.name}.{suffix}": f"/* {self.mark} */\n{text}"
            for kernel in self.kernels
            for suffix, text in (("c", kernel.source), ("h", kernel.header))
        }
        for suffix in ("c", "h"):
            sources[f"{name}.{suffix}"] = template(f"network.{suffix}").render(shown)
        manifest = self._manifest()
        texts = {path.rpartition("/")[2]: text for path, text in sources.items()}
        contents = weights.contents(library(manifest, texts, self.kernels[0].machine))
        files: dict[str, str | bytes] = {**sources, f"{name}.weights": contents}
        for own in self.distinct.values():
            files[f"kernels/{own.kernel.name}.mspec"] = f"# {self.mark}\n{_mspec(own)}"
        files["CMakeLists.txt"] = template("CMakeLists.txt").render(shown)
        # The first line says where it is from.
        text = json.dumps(manifest, indent=2, allow_nan=False)
        files[f"{name}.json"] = text.replace("{\n  ", "{", 1) + "\n"
        return Library(name, files, self.partitions, self.arena.bytes, len(contents))

    def _shown(self) -> dict[str, object]:
        """What the templates show of the network."""
        network, source = self.network, self.kernels[0].c_source
        return {
            "name": network.name,
            "mark": self.mark,
            "title": f"A network of {len(self.steps)} steps, with {len(self.kernels)} kernels.",
            "target": self.kernels[0].program.target.name,
            "flags": " ".join(source.flags),
            "threads": self.kernels[0].goal.threads,
            "guard": f"{network.name.upper()}_H",
            "inputs": self.arguments[: len(network.inputs)],
            "outputs": self.arguments[len(network.inputs) :],
            "arena": self.arena.bytes,
            "line": LINE,
            "kernels": [kernel.name for kernel in self.kernels],
            "calls": self._called_back(),
            "narrows": any(narrows(network, node) for node in network.nodes),
        }

    @cached_property
    def calls(self) -> list[Node]:
        """What is left to the user's function; it gets the place here as a number."""
        return [node for node in self.network.nodes if node.operator == "Call"]

    def _called_back(self) -> list[dict[str, object]]:
        """The same for tools, and for the header."""

        def described(name: str) -> dict[str, object] | None:
            value = self.network.values.get(name)
            return None if value is None else {"dtype": value.dtype, "shape": [*value.shape]}

        return [
            {
                "operator": node.origin,
                "name": node.name,
                "inputs": [*map(described, node.inputs)],
                "outputs": [*map(described, node.results)],
            }
            for node in self.calls
        ]

    def _steps(self) -> list[dict[str, str]]:
        """The code of all steps; adds the weights that they read."""
        network, weights = self.network, self.weights
        between = constants_between(network, self.steps)
        constants = {name: weights.add(data) for name, data in between.items()}
        arguments = {a.name: a.argument for a in self.arguments}
        calls = {node.output: number for number, node in enumerate(self.calls)}
        writer = Writer(network, self.arena, constants, arguments, calls)
        texts = []
        for step, own, scratch in zip(self.steps, self.compiled, self.arena.scratch, strict=True):
            nodes = step.nodes if isinstance(step, Part) else [step]
            if isinstance(step, Node):
                code = writer.between(step)
            else:
                assert own is not None
                packed = {
                    name: weights.add_packed(own.kernel, place, data)
                    for place, name in enumerate(own.spec.arguments)
                    if (data := network.data(name)) is not None
                }
                code = writer.call(own.kernel.name, own.spec.arguments, packed, scratch)
            texts.append({"comment": ", ".join(_called(nodes)), "code": code})
        for name in network.outputs:
            if self.arena.places[name].argument != name:  # an input, or another output's view
                texts.append({"comment": f"output {name}", "code": writer.copied(name)})
        return texts

    def _manifest(self) -> dict[str, object]:
        """What tools and `morello.load` read of the network."""
        network, source = self.network, self.kernels[0].c_source

        rows = [{"name": a.name, "dtype": a.type, "shape": a.shape} for a in self.arguments]
        return {
            "generated": self.mark,
            "name": network.name,
            "target": self.kernels[0].program.target.name,
            "flags": source.flags,
            "features": source.features,
            "threads": self.kernels[0].goal.threads,
            "inputs": rows[: len(network.inputs)],
            "outputs": rows[len(network.inputs) :],
            "arena": self.arena.bytes,
            "calls": self._called_back(),
            "kernels": [to_builtins(row) for row in self.partitions],
        }


def _called(nodes: Iterable[Node]) -> tuple[str, ...]:
    """The nodes of the model file that these say, as they stand in comments."""
    names = (f"{node.origin} {node.name}" for node in nodes)
    return tuple(dict.fromkeys(name.replace("*/", "* /").replace("\n", " ") for name in names))


def _mspec(own: Compiled) -> str:
    """The spec of a kernel as a file, without its first line."""
    target = own.kernel.program.target.name
    nodes = (f"#   {name}" for name in _called(own.part.nodes))
    head = ["# For these nodes, and others like them:", *nodes]
    return "\n".join([*head, f"target {target}", "", own.spec.text(own.kernel.name), ""])
