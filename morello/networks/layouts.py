"""In which order the dimensions of images lie between kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from morello.ir.layout import Order
from morello.networks.network import Network
from morello.networks.partition import Part, Step
from morello.networks.views import views_of_same

CHANNELS_LAST: Order = (0, 2, 3, 1)

Cost = Callable[[int, Mapping[str, Order], str], float]
"""What a step takes that is a part, where these values have layouts; its kernel's name gets a
suffix."""


def chosen_layouts(network: Network, steps: Sequence[Step], cost: Cost) -> dict[str, Order]:
    """Layouts of values that only one kernel writes and one reads, where another one costs less.

    An image in a frame is copied in any case: it may be with its channels last, as the convolution
    or the pool reads it then.
    """
    same = views_of_same(network)
    readers: dict[str, list[int]] = {}
    for place, step in enumerate(steps):
        for name in step.inputs:
            readers.setdefault(same.get(name, name), []).append(place)
    found: dict[str, Order] = {}
    for place, step in enumerate(steps):
        reading = readers.get(step.output, [])
        if not _is_frame(network, step) or len(reading) != 1 or step.output in network.outputs:
            continue
        [reader] = reading
        if not isinstance(steps[reader], Part):
            continue
        last = {step.output: CHANNELS_LAST}
        both = (place, reader)
        if sum(cost(p, last, "_last") for p in both) < sum(cost(p, {}, "") for p in both):
            found |= last
    return found


def _is_frame(network: Network, step: Step) -> bool:
    """Whether all that a step does is to put images into a frame."""
    kinds = [node.operator for node in step.nodes] if isinstance(step, Part) else []
    return kinds == ["Frame"] and len(network.shape(step.output)) == len(CHANNELS_LAST)
