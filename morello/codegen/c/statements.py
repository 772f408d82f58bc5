"""The program's tree as C statements. The function around them is in `emitter`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from morello.codegen.c.calls import kernel_lines, writer_of_rows
from morello.codegen.c.fused_rows import FusedRows, beside
from morello.codegen.c.prefetch import fetching, in_order, next_tiles
from morello.codegen.c.scope import ALIGNMENT, CScope, Memory, Registers, size_in_bytes
from morello.codegen.c.semantics import PrimitiveTable
from morello.codegen.c.streamed import StreamedWriter, fence
from morello.codegen.c.vector_rows import RowWriter
from morello.errors import MorelloError
from morello.ir.dtypes import DType
from morello.ir.layout import Layout, row_major
from morello.ir.passes import FETCH_TILES, SHARE_ROWS
from morello.ir.programs.emitted import EmitOptions
from morello.ir.programs.tree import (
    Allocate,
    Apply,
    Block,
    KernelCall,
    Lookup,
    Loop,
    Node,
    Ordered,
    Origin,
    ParallelLoop,
    Prepack,
    Program,
    Resident,
    Tensor,
    walk,
)
from morello.records import replace

THREAD_INDEX = "thread_index()"

_WORD = re.compile(r"\w+")


class StatementWriter:
    """Writes the nodes of one program."""

    def __init__(self, program: Program, options: EmitOptions) -> None:
        self._target = program.target
        self._options = options

    def write(self, node: Node, scope: CScope) -> list[str]:
        """Lines of C, indented from column 0.

        What is the outermost of a thread has the calls around it that its kernels stand between:
        threads prepare their own registers, and wait in the end for what they store past caches.
        """
        if scope.prepared or is_parallel(node):
            return self._node(node, scope)
        calls = [n.kernel.clauses.between for n in walk(node) if isinstance(n, KernelCall)]
        around = list(dict.fromkeys(filter(None, calls)))
        lines = self._node(node, replace(scope, prepared=True))
        before = [f"{name}();" for name, _ in around]
        after = [f"{name}();" for _, name in reversed(around)]
        return [*before, *lines, *after, *fence(self._target, node)]

    def _node(self, node: Node, scope: CScope) -> list[str]:
        match node:
            case Block(steps=steps):
                together = beside(node) if SHARE_ROWS in self._target.passes else None
                if together is not None:
                    return self._beside(together, scope)
                return [line for step in steps for line in self._scoped(step, scope)]
            case Loop(unrolled=True):
                return self._unrolled(node, scope)
            case Loop():
                return self._loop(node, scope)
            case ParallelLoop():
                return self._parallel(node, scope)
            case Ordered(body=body):
                return self._ordered(body, scope)
            case Allocate(tensor=tensor):
                return (self._registers if tensor.vector else self._buffer)(node, scope)
            case Resident():
                return self._resident(node, scope)
            case KernelCall():
                return self._kernel(node, scope)
            case Lookup():
                return self._lookup(node, scope)
            case Prepack(weight=weight):
                raise MorelloError(
                    f"the program packs '{weight.name}' in the middle",
                    help="the program tree is malformed; report the rule that made it",
                )
            case Apply(operation=operation):
                raise MorelloError(
                    f"the program still has '{operation}' without a kernel",
                    help="only a complete program can be written in C",
                )

    def c_type(self, dtype: DType, lanes: int = 1) -> str:
        """The C type of one element, or of one register."""
        return PrimitiveTable(self._target, dtype, lanes).text("type")

    def _scoped(self, node: Node, scope: CScope) -> list[str]:
        lines = self.write(node, scope)
        return ["{", *_indented(lines), "}"] if _declares(node) else lines

    def _origin(self, origin: Origin, what: str = "") -> str:
        place = f" ({origin.span.source.name}:{origin.span.line})" if self._options.annotate else ""
        return comment(f"{origin.name}{place}{': ' if what else ''}{what}")

    # ------------------------------------------------------------------- loops

    def _unrolled(self, loop: Loop, scope: CScope) -> list[str]:
        lines = [self._origin(loop.origin, f"{loop.dimension} unrolled, {loop.count} x")]
        for i in range(loop.count):
            lines += self._scoped(loop.body, scope.with_value(loop.variable, i * loop.step))
        return lines

    def _loop(self, loop: Loop, scope: CScope) -> list[str]:
        name, end = scope.fresh(loop.variable), loop.count * loop.step
        inner = scope.with_variable(loop.variable, name, loop.step, end)
        body = [
            line
            for tile in scope.prefetched
            if tile.loop is loop
            for line in fetching(tile, self._target, name, inner)
        ]
        fetched = FETCH_TILES in self._target.passes
        following = next_tiles(loop, self._target, inner) if fetched else ()
        body += self.write(loop.body, replace(inner, prefetched=(*scope.prefetched, *following)))
        head = _head(name, end, loop.step)
        return [f"{head} {{  {self._origin(loop.origin)}", *_indented(body), "}"]

    def _parallel(self, loop: ParallelLoop, scope: CScope) -> list[str]:
        """A loop or a grid of them, with a part of the workspace for each thread if any is used."""
        loops, names, inner = _grid(loop), list[str](), scope
        for each in loops:
            names.append(inner.fresh(each.variable))
            inner = inner.with_variable(each.variable, names[-1], each.step, _bound(each))
        waits = any(isinstance(node, Ordered) for node in walk(loop.body))
        shared = f" collapse({len(loops)})" if len(loops) > 1 else " ordered(1)" if waits else ""
        body: list[str] = []
        if share := workspace_extent(loop, self._options, scope.stack) // loop.threads:
            slot = inner.fresh("part")
            inner = inner.with_base(slot)
            body = [f"unsigned char *const {slot} = {scope.place} + {THREAD_INDEX} * {share};"]
        body += self._tile(loop, names, inner)
        for each, name in reversed(list(zip(loops, names, strict=True))):
            head = f"{_head(name, _bound(each), each.step)} {{  {self._origin(each.origin)}"
            body = [head, *_indented(body), "}"]
        # Neighbours in memory are one thread's: what the hardware fetches ahead is its own. Those
        # that wait for the one before take turns, or all of a thread's would come last.
        schedule = "static, 1" if waits else "static"
        pragma = f"parallel for{shared} num_threads({loop.threads}) schedule({schedule})"
        return [*_openmp(pragma), *body]

    def _tile(self, loop: Node, names: Sequence[str], scope: CScope) -> list[str]:
        """What is done for a tile: a full one, or one at an end of one of the loops so named."""
        if not names:
            return self.write(loop, scope)
        assert isinstance(loop, ParallelLoop)
        name, end = names[0], loop.count * loop.step
        inner = scope.with_variable(loop.variable, name, loop.step, _bound(loop))
        inner = inner.with_previous(f"{name} - {loop.step}")
        body = self._tile(loop.body, names[1:], inner)
        if loop.tail is None:
            return body
        tail = self._tile(loop.tail, names[1:], inner)
        return [f"if ({name} < {end}) {{", *_indented(body), "} else {", *_indented(tail), "}"]

    def _ordered(self, body: Node, scope: CScope) -> list[str]:
        """Between two pragmas: a region may stand in a loop only once, and a tail has one, too."""
        inner = [*self.write(body, scope), *fence(self._target, body)]
        lines = ["{", *_indented(inner), "}"]
        wait, done = f"depend(sink: {scope.previous})", "depend(source)"
        return [*_openmp(f"ordered {wait}"), *lines, *_openmp(f"ordered {done}")]

    # ------------------------------------------------------------------- lookups

    def _lookup(self, node: Lookup, scope: CScope) -> list[str]:
        """Loops over indices, and in each one over all else of the table."""
        table, indices, output = (scope.storage(view.tensor) for view in node.operands)
        assert isinstance(table, Memory)
        assert isinstance(indices, Memory)
        assert isinstance(output, Memory)
        sizes, axis, count = node.output.sizes, node.axis, len(node.indices.sizes)
        last = node.table.sizes[axis] - 1
        inner = range(axis, axis + count)
        # Dimensions of the output that are the table's own, by their number there.
        others = {p: p if p < axis else p - count + 1 for p in range(len(sizes)) if p not in inner}
        read = [(f"i{p}_", indices.strides[p - axis]) for p in inner]
        source = [(f"i{p}_", table.strides[own]) for p, own in others.items()]
        target = [(f"i{p}_", stride) for p, stride in enumerate(output.strides)]

        def loops(dimensions: Iterable[int], body: list[str]) -> list[str]:
            for p in dimensions:
                head = f"for (ptrdiff_t i{p}_ = 0; i{p}_ < {sizes[p]}; i{p}_++) {{"
                body = [head, *_indented(body), "}"]
            return body

        move = (
            f"{output.name}[{_linear(target)}] = "
            f"{table.name}[{_linear([('row_', table.strides[axis]), *source])}];"
        )
        rows = [
            f"ptrdiff_t row_ = {indices.name}[{_linear(read)}];",
            f"row_ = row_ < 0 ? 0 : row_ > {last} ? {last} : row_;",
            *loops(sorted(others, key=lambda p: output.strides[p]), [move]),
        ]
        body = loops(reversed(inner), rows) if count else ["{", *_indented(rows), "}"]
        return [f"/* lookup in {table.name} */", *body]

    # ------------------------------------------------------------------- buffers

    def _registers(self, node: Allocate, scope: CScope) -> list[str]:
        inner = scope.with_registers(node.tensor)
        storage = inner.storage(node.tensor)
        assert isinstance(storage, Registers)
        names = list(storage.every())
        kind = self.c_type(node.tensor.dtype, storage.lanes)
        note = self._origin(node.origin, f"{describe(node.tensor)}, in registers")
        rows = [names[i : i + 6] for i in range(0, len(names), 6)]
        lines = [note, *(f"{kind} {', '.join(row)};" for row in rows)]
        body = self.write(node.body, inner)
        return [*lines, *body, *(f"(void){name};" for name in never_read(names, body))]

    def _buffer(self, node: Allocate, scope: CScope) -> list[str]:
        tensor = node.tensor
        size, kind = size_in_bytes(tensor), self.c_type(tensor.dtype)
        inner = scope.with_memory(tensor)
        name, note = inner.name_of(tensor), self._origin(node.origin, describe(tensor))
        if on_stack(node, scope.stack, self._options):
            inner = inner.using(stack=size)
            line = f"_Alignas({ALIGNMENT}) {kind} {name}[{tensor.layout.elements(tensor.shape)}];"
        else:
            inner = inner.using(workspace=size)
            line = f"{kind} *const restrict {name} = ({kind} *)({scope.place});"
        return [note, line, *self.write(node.body, inner)]

    # ------------------------------------------------------------------- leaves

    def _resident(self, node: Resident, scope: CScope) -> list[str]:
        ahead = FETCH_TILES in self._target.passes
        fetched = in_order(node, self._target, scope) if ahead else []
        body = [*fetched, *self.write(node.body, scope)]
        if not self._options.annotate:
            return body
        shape = " x ".join(map(str, node.view.sizes)) or "one element"
        what = f"{shape} of {node.view.tensor.name} held by {node.view.level}"
        return [self._origin(node.origin, what), *body]

    def _beside(self, node: FusedRows, scope: CScope) -> list[str]:
        """Steps, some of which share a loop; what these begin with stands at their own places."""
        lines, writers = list[str](), list[RowWriter]()
        for position, step in enumerate(node.steps):
            if position in node.rows:
                assert isinstance(step, KernelCall)
                writers.append(writer_of_rows(self._target, step, scope))
                lines += [*self._kernel_name(step), *writers[-1].beside(len(writers))]
            else:
                lines += self._scoped(step, scope)
            if position == node.rows[-1]:
                streamed, *others = writers
                assert isinstance(streamed, StreamedWriter)
                lines += streamed.with_others(others)
                lines += [line for writer in writers for line in writer.last()]
        return ["{", *_indented(lines), "}"]

    def _kernel(self, call: KernelCall, scope: CScope) -> list[str]:
        return [*self._kernel_name(call), *kernel_lines(self._target, call, scope)]

    def _kernel_name(self, call: KernelCall) -> list[str]:
        if not self._options.annotate:
            return []
        span = call.kernel.declaration.span
        return [comment(f"{call.kernel.name} ({span.source.name}:{span.line})")]


def _linear(terms: Iterable[tuple[str, int]]) -> str:
    """A sum of variables, each times a number, in C."""
    return " + ".join(v if n == 1 else f"{v} * {n}" for v, n in terms) or "0"


def workspace_extent(node: Node, options: EmitOptions, stack: int) -> int:
    """Bytes of workspace that a node needs when ``stack`` bytes of arrays surround it.

    Steps of a block follow each other and share their space.
    """
    match node:
        case Block(steps=steps):
            return max((workspace_extent(s, options, stack) for s in steps), default=0)
        case Loop(body=body) | Ordered(body=body) | Resident(body=body):
            return workspace_extent(body, options, stack)
        case ParallelLoop(body=body, tail=tail, threads=threads):
            parts = [body] if tail is None else [body, tail]
            return threads * max(workspace_extent(p, options, stack) for p in parts)
        case Allocate(tensor=tensor, body=body):
            size = 0 if tensor.vector else size_in_bytes(tensor)
            if tensor.vector or on_stack(node, stack, options):
                return workspace_extent(body, options, stack + size)
            return size + workspace_extent(body, options, stack)
        case _:
            return 0


def on_stack(node: Allocate, stack: int, options: EmitOptions) -> bool:
    """Whether a buffer is an array on the stack.

    One that kernels fill as they use it is not: C compilers do not see that the first iteration
    does, and warn of an array that may be uninitialized.
    """
    size = size_in_bytes(node.tensor)
    fits = size <= options.stack_buffer and stack + size <= options.stack_total
    return fits and not any(_keeps(each, node.tensor) for each in walk(node.body))


def _keeps(node: Node, tensor: Tensor) -> bool:
    """Whether a kernel fills a part of the tensor as it uses it."""
    if not isinstance(node, KernelCall) or node.kept is None:
        return False
    return node.operands[node.kept.position].tensor == tensor


def describe(tensor: Tensor) -> str:
    """Name, dtype, shape and layout, such as ``a: f32[4, 16], column-major``."""
    shape = ", ".join(map(str, tensor.shape))
    return f"{tensor.name}: {tensor.dtype}[{shape}], {layout_in_words(tensor.layout)}"


def layout_in_words(layout: Layout) -> str:
    """``row-major``, ``column-major``, or the order of the dimensions; panels; or strides."""
    if layout.stated:
        return f"strides {', '.join(map(str, layout.stated))}"
    text = f"dimensions from slowest to fastest {', '.join(map(str, layout.order))}"
    if layout.order == row_major(len(layout.order)).order:
        text = "row-major"
    elif layout.order == (1, 0):
        text = "column-major"
    if not layout.panel:
        return text
    text = f"{text}, in panels of {' x '.join(map(str, reversed(layout.cuts.values())))}"
    where = " and ".join(map(str, reversed(layout.cuts)))
    text = f"{text} along dimension{'s' if len(layout.cuts) > 1 else ''} {where}"
    return f"{text}, {layout.gap} free rows behind each" if layout.gap else text


def comment(text: str) -> str:
    """A C comment of one line."""
    return f"/* {comment_text(text)} */"


def comment_text(text: str) -> str:
    """Text for a line of a comment, which neither ends nor opens one."""
    return " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *")


def _openmp(pragma: str) -> list[str]:
    return ["#ifdef _OPENMP", f"#pragma omp {pragma}", "#endif"]


def _head(name: str, bound: int, step: int) -> str:
    return f"for (ptrdiff_t {name} = 0; {name} < {bound}; {name} += {step})"


def _grid(loop: ParallelLoop) -> list[ParallelLoop]:
    """The loop, and those directly in it that it makes a grid with."""
    inner = loop.body
    return [loop, *(_grid(inner) if isinstance(inner, ParallelLoop) else [])]


def _bound(loop: ParallelLoop) -> int:
    """Where its variable ends: the tail is one more step."""
    return (loop.count + (loop.tail is not None)) * loop.step


def is_parallel(node: Node) -> bool:
    """Whether threads share some of it."""
    return any(isinstance(inner, ParallelLoop) for inner in walk(node))


def never_read(names: Iterable[str], lines: Sequence[str]) -> list[str]:
    """Variables that are assigned alone: elements between those that something reads in steps.

    C compilers warn of them.
    """
    mentions = Counter(word for line in lines for word in _WORD.findall(line))
    assigned = Counter(line.split(" = ", 1)[0].strip() for line in lines if " = " in line)
    return [name for name in names if 0 < mentions[name] == assigned[name]]


def _declares(node: Node) -> bool:
    match node:
        case Allocate():
            return True
        case Resident(body=body):
            return _declares(body)
        case _:
            return False


def _indented(lines: Iterable[str]) -> list[str]:
    return [line if line.startswith("#") else f"  {line}" for line in lines]
