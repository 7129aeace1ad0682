"""The points of a layout as one array of numbers: as LayoutMap.points has them, made many times sooner."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..spec.expressions import Binary, Expression, Name, Number, compiled, walk
from ..spec.maps import LayoutMap

__all__ = ["point_array"]


def point_array(layout: LayoutMap, parameters: Mapping[str, int]) -> NDArray[np.int64]:
    """A row (inputs…, outputs…) for every point, in the order of the inputs."""
    trees = [layout.trees[name] for name in layout.outputs]
    sizes = layout.domain(parameters)
    if layout.condition is not None or not all(map(_is_arithmetic, trees)):
        points = layout.points(parameters)
        return np.array(points, np.int64).reshape(len(points), len(sizes) + len(trees))
    inputs = np.indices(tuple(sizes.values()), np.int64).reshape(len(sizes), -1)
    arguments = (*layout.parameters, *layout.inputs)
    values = (*(parameters[name] for name in layout.parameters), *inputs)
    outputs = [np.broadcast_to(compiled(tree, arguments)(*values), inputs.shape[1]) for tree in trees]
    return np.stack([*inputs, *outputs], axis=1)


def _is_arithmetic(tree: Expression) -> bool:
    """Whether the tree means for arrays, element by element, what it means for numbers."""
    return all(isinstance(part, Number | Name | Binary) for part in walk(tree))
