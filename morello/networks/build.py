"""From a network to the files of a C library that runs it."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

from morello.compiler import Kernel, Progress, compile_spec
from morello.definitions import Definitions
from morello.errors import MorelloError
from morello.memo.memo import Memo
from morello.networks.c_files import Argument, Writer, argument, constants_between, template
from morello.networks.memory import LINE, Arena, plan
from morello.networks.network import Network, Node
from morello.networks.partition import SEEN, Part, Step, partition
from morello.networks.saying import PartSpec, spec_of
from morello.networks.weights import Packer, Weights
from morello.search.planning.budget import Budget
from morello.toolchain.machine import Machine

Report = Callable[[str, Progress], None]
"""Takes which kernel is compiled, and how far its compile is."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A row of the table of partitions: one kernel.

    Attributes:
        name: Of the kernel.
        nodes: The nodes that it was first compiled for, each as its operator and its name.
        calls: How often the network calls it.
        cycles: What a call takes, as predicted.
        seconds: How long it took to compile.
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


@dataclass(frozen=True, slots=True)
class Library:
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


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A kernel, and the part that it was first compiled for."""

    spec: PartSpec
    part: Part
    kernel: Kernel
    seconds: float


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
        progress: Called now and then.

    Raises:
        MorelloError: The network computes nothing, or has tensors of a type that specs do not have;
            or as `morello.compile` and `morello.Kernel.verify`.
    """
    steps = [s for s in partition(network) if isinstance(s, Part) or s.operator not in SEEN]
    specs = [spec_of(s, network, threads=threads) if isinstance(s, Part) else None for s in steps]
    parts: dict[str, tuple[Part, PartSpec]] = {}
    for step, spec in zip(steps, specs, strict=True):
        if isinstance(step, Part) and spec is not None:
            parts.setdefault(spec.body, (step, spec))
    if not parts:
        raise MorelloError(f"'{network.name}' computes nothing that needs a kernel")
    compiled: dict[str, _Compiled] = {}
    for number, (body, (part, spec)) in enumerate(parts.items()):
        started = time.monotonic()
        kernel = compile_spec(
            spec.text(f"{network.name}_{number:0{len(str(len(parts) - 1))}}"),
            target=target,
            definitions=definitions,
            memo=memo,
            budget=budget,
            machine=machine,
            progress=_labelled(progress, f"kernel {number + 1} of {len(parts)}"),
        )
        if verify:
            kernel.verify()
        compiled[body] = _Compiled(spec, part, kernel, time.monotonic() - started)
    return _Assembly(network, steps, specs, compiled, mark).library()


def _labelled(progress: Report | None, label: str) -> Callable[[Progress], None] | None:
    return None if progress is None else lambda step: progress(label, step)


class _Assembly:
    """Puts the kernels of a network together."""

    def __init__(
        self,
        network: Network,
        steps: Sequence[Step],
        specs: Sequence[PartSpec | None],
        compiled: Mapping[str, _Compiled],
        mark: str,
    ) -> None:
        """``specs``: that of each step that is a part; ``compiled``: kernels, by these."""
        self.network = network
        self.steps = steps
        self.specs = specs
        self.compiled = compiled
        self.kernels = [own.kernel for own in compiled.values()]
        self.mark = mark
        self.weights = Weights(f"weights, {mark}")

    @cached_property
    def arena(self) -> Arena:
        """Where everything lies."""
        kernels = [self.compiled[spec.body].kernel if spec else None for spec in self.specs]
        workspaces = [k.signature.workspace_bytes if k else 0 for k in kernels]
        return plan(self.network, self.steps, workspaces)

    @cached_property
    def partitions(self) -> tuple[Partition, ...]:
        """The table of kernels."""
        calls = Counter(spec.body for spec in self.specs if spec)
        return tuple(
            Partition(
                own.kernel.name,
                _called(own.part.nodes),
                calls[body],
                own.kernel.cost,
                round(own.seconds, 3),
                own.kernel.statistics.cells,
                own.kernel.verification is not None,
            )
            for body, own in self.compiled.items()
        )

    def library(self) -> Library:
        """All files."""
        name, steps = self.network.name, self._steps()
        weights = self.weights.contents()
        shown = self._shown() | {"steps": steps, "header": [*weights[:LINE]]}
        shown |= {"weights": len(weights)}
        files: dict[str, str | bytes] = {}
        for own in self.compiled.values():
            kernel = own.kernel
            files[f"kernels/{kernel.name}.c"] = f"/* {self.mark} */\n{kernel.source}"
            files[f"kernels/{kernel.name}.h"] = f"/* {self.mark} */\n{kernel.header}"
            files[f"kernels/{kernel.name}.mspec"] = f"# {self.mark}\n{_mspec(own)}"
        for suffix in ("c", "h"):
            files[f"{name}.{suffix}"] = template(f"network.{suffix}").render(shown)
        files["CMakeLists.txt"] = template("CMakeLists.txt").render(shown)
        files[f"{name}.weights"] = weights
        files[f"{name}.json"] = self._manifest()
        return Library(name, files, self.partitions, self.arena.bytes, len(weights))

    def _arguments(self, names: Iterable[str]) -> list[Argument]:
        return [argument(self.network, name) for name in names]

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
            "inputs": self._arguments(network.inputs),
            "outputs": self._arguments(network.outputs),
            "arena": self.arena.bytes,
            "line": LINE,
            "kernels": [kernel.name for kernel in self.kernels],
        }

    def _steps(self) -> list[dict[str, str]]:
        """The code of all steps; adds the weights that they read."""
        network, packer = self.network, Packer(self.kernels)
        between = constants_between(network, self.steps)
        constants = {name: self.weights.add(data) for name, data in between.items()}
        names = [*network.inputs, *network.outputs]
        arguments = {a.name: a.argument for a in self._arguments(names)}
        writer = Writer(network, self.arena, constants, arguments)
        texts = []
        for step, spec, scratch in zip(self.steps, self.specs, self.arena.scratch, strict=True):
            if isinstance(step, Node) or spec is None:
                assert isinstance(step, Node)
                texts.append({"comment": ", ".join(_called([step])), "code": writer.between(step)})
                continue
            kernel, weights = self.compiled[spec.body].kernel, {}
            for place, name in enumerate(spec.arguments):
                data = network.data(name)
                if data is not None:
                    weights[name] = self.weights.add(packer.packed(kernel, place, data))
            code = writer.call(kernel.name, spec.arguments, weights, scratch)
            texts.append({"comment": ", ".join(_called(step.nodes)), "code": code})
        for name in network.outputs:
            if self.arena.places[name].argument != name:  # an input, or another output's view
                texts.append({"comment": f"output {name}", "code": writer.copied(name)})
        return texts

    def _manifest(self) -> str:
        """What tools and `morello.load` read of the network."""
        network, source = self.network, self.kernels[0].c_source

        def described(names: Iterable[str]) -> list[dict[str, object]]:
            rows = self._arguments(names)
            return [{"name": a.name, "dtype": a.type, "shape": a.shape} for a in rows]

        document = {
            "generated": self.mark,
            "name": network.name,
            "target": self.kernels[0].program.target.name,
            "flags": source.flags,
            "features": source.features,
            "threads": self.kernels[0].goal.threads,
            "inputs": described(network.inputs),
            "outputs": described(network.outputs),
            "arena": self.arena.bytes,
            "kernels": [asdict(row) for row in self.partitions],
        }
        # The first line says where it is from.
        return json.dumps(document, indent=2, allow_nan=False).replace("{\n  ", "{", 1) + "\n"


def _called(nodes: Iterable[Node]) -> tuple[str, ...]:
    """The nodes of the model file that these say, as they stand in comments."""
    names = (f"{node.origin} {node.name}" for node in nodes)
    return tuple(dict.fromkeys(name.replace("*/", "* /").replace("\n", " ") for name in names))


def _mspec(own: _Compiled) -> str:
    """The spec of a kernel as a file, without its first line."""
    target = own.kernel.program.target.name
    nodes = (f"#   {name}" for name in _called(own.part.nodes))
    head = ["# For these nodes, and others like them:", *nodes]
    return "\n".join([*head, f"target {target}", "", own.spec.text(own.kernel.name), ""])
