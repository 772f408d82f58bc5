"""Images in another size, as ONNX says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from .models import expected, interpreted, model_of, random, read

IMAGE = random(1, 4, 9, 7)
PLACES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("scales", [(2.0, 3.0), (0.5, 1.5), (1.0, 2.5)])
def test_images_in_another_size(
    mode: str, places: str, scales: tuple[float, float], tmp_path: Path
) -> None:
    node = helper.make_node(
        "Resize", ["x", "", "s"], ["y"], mode=mode, coordinate_transformation_mode=places
    )
    image, constants = random(1, 2, 8, 6), {"s": np.array([1, 1, *scales], np.float32)}
    model = model_of([node], {"x": image}, ["y"], constants, opset=19)
    [result] = interpreted(read(model, tmp_path), {"x": image})
    [wanted] = expected(model, {"x": image})
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rounding", ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
def test_the_nearest_pixels(rounding: str, tmp_path: Path) -> None:
    node = helper.make_node(
        "Resize", ["x", "", "", "s"], ["y"], mode="nearest", nearest_mode=rounding
    )
    model = model_of([node], {"x": IMAGE}, ["y"], {"s": np.array([1, 4, 6, 14])}, opset=19)
    [result] = interpreted(read(model, tmp_path), {"x": IMAGE})
    assert (result == expected(model, {"x": IMAGE})[0]).all()
