"""The points of every layout as an array are those that are enumerated one by one."""

from __future__ import annotations

import numpy as np

from ptxmma.gen.point_arrays import point_array
from ptxmma.spec.specification import Specification


def test_points_as_an_array_are_those_enumerated(specification: Specification) -> None:
    alike = []
    for layout in specification.layouts.values():
        parameters = min(layout.assignments(), key=lambda values: tuple(values.values()))
        points = layout.points(parameters)
        found = point_array(layout, parameters)
        assert found.dtype == np.int64 and found.shape == (len(points), len(points[0])), layout.layout.id
        alike.append(found.tolist() == [list(point) for point in points])
    assert len(alike) > 100 and all(alike)


def test_a_layout_of_some_points(specification: Specification) -> None:
    """Selector 1 of 16-bit sparse A: the second pair of threads of every four hold the metadata."""
    metadata = specification.layouts["wgmma.sp.metadata.16b"]
    threads = point_array(metadata, dict.fromkeys(metadata.parameters, 1))[:, 0]
    assert set(threads.tolist()) == {t for t in range(128) if t % 4 >= 2}
