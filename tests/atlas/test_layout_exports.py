"""What the explorer draws and exports is what Python makes of the same maps: labels, CSV, CuTe, CUDA; and bridges."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ptxmma.gen.pictures.cute import cute
from ptxmma.gen.pictures.exports import as_csv
from ptxmma.gen.pictures.grid import Grid, grid_of, lanes_of
from ptxmma.gen.pictures.places import in_places, place_grid
from ptxmma.gen.pictures.tables import MapTable
from ptxmma.spec.errors import Question
from ptxmma.spec.expressions import compiled
from ptxmma.spec.specification import Specification

from .in_node import in_node
from .test_layout_scripts import data, maps

SCRIPTS = ("layout_maps", "layout_choice", "layout_facts", "layout_grid", "layout_exports")


@cache
def some() -> tuple[tuple[dict[str, Any], MapTable], ...]:
    """A map of each layout, and every eighth beside."""
    met: set[str] = set()
    found = []
    for number, (state, _, table) in enumerate(maps(random.Random(23))):
        name = table.layout.layout.id
        if name not in met or number % 8 == 0:
            met.add(name)
            found.append((state, table))
    return tuple(found)


def asked(body: str) -> Any:
    script = f"""return given.map((state) => {{
      const {{ map }} = ptxmma.choice.tableOf(ptxmma.data.layouts, state);
      {body}
    }});"""
    return in_node(SCRIPTS, {"layouts": data()}, [state for state, _ in some()], script)


def grids(table: MapTable) -> list[Grid]:
    if in_places(table.layout):
        return [place_grid(table)]
    return [grid_of(table), *([lanes_of(table)] if table.packing is not None else [])]


def labels(grid: Grid) -> list[str]:
    return [cell.label for _, cells in grid.rows for cell in cells]


def test_labels_are_those_of_the_pictures() -> None:
    said = asked(
        """return ["matrix", "registers"].map((view) => {
             const grid = ptxmma.grid.grid(map, view);
             return Array.from({ length: grid.rows * grid.cols }, (_, cell) => ptxmma.grid.label(grid, cell));
           });"""
    )
    for (_, table), found in zip(some(), said, strict=True):
        for grid, one in zip(grids(table), found, strict=False):
            assert one == labels(grid), table.title


def test_csv_is_that_of_the_command() -> None:
    for (_, table), found in zip(some(), asked("return ptxmma.exports.csv(map);"), strict=True):
        assert found == as_csv(table), table.title


def test_cute_is_that_of_the_command() -> None:
    texts = asked("const one = ptxmma.exports.cute(map); return one.text || one.why;")
    made = 0
    for (_, table), found in zip(some(), texts, strict=True):
        try:
            wanted = cute(table)
            made += 1
        except Question as question:
            wanted = str(question)
        assert found == wanted
    assert made > 20


def test_svg_is_well_formed() -> None:
    drawn = asked(
        """const grid = ptxmma.grid.grid(map, "matrix");
           return map.points.length > 4000 ? "" : ptxmma.exports.svg(ptxmma.data.layouts, grid, "thread");"""
    )
    texts = [ElementTree.fromstring(one).itertext() for one in drawn if one]
    assert len(texts) > 20 and all(any("T0" in text or "," in text or text for text in own) for own in texts)


def test_cuda_functions_are_the_maps(tmp_path: Path) -> None:
    """Compiled as C, every function agrees with the map at drawn points."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    draw = random.Random(29)
    lines = ["#define __host__", "#define __device__", "#include <stdio.h>"]
    checks: list[str] = []
    for (_, table), text in zip(some(), asked("return ptxmma.exports.cuda(map);"), strict=True):
        prefix = f"f{len(checks)}_"
        own = re.sub(r"(inline unsigned )(\w+)\(", rf"\1{prefix}\2(", text)
        names = re.findall(rf"unsigned ({prefix}\w+)\(", own)
        lines.append(own)
        layout = table.layout
        point = draw.choice(layout.points(table.parameters))
        cut = len(layout.inputs)
        wanted = list(zip(names, [*point[cut:], *point[:cut]], strict=False))
        given = [point[:cut]] * (len(point) - cut) + [point[cut:]] * cut
        checks.append(
            " && ".join(
                f"{name}({', '.join(map(str, args))}) == {value}"
                for (name, value), args in zip(wanted, given, strict=True)
            )
        )
    body = "\n".join(f'  if (!({check})) {{ printf("{number} "); }}' for number, check in enumerate(checks))
    (tmp_path / "maps.c").write_text("\n".join([*lines, f"int main(void) {{\n{body}\n  return 0; }}"]))
    subprocess.run([compiler, "-w", "-o", "maps", "maps.c"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "maps"], capture_output=True, text=True, check=True)
    assert len(checks) > 100 and done.stdout == "", [some()[int(n)][1].title for n in done.stdout.split()]


def test_a_bridge_leads_to_the_proven_point_and_back(specification: Specification) -> None:
    draw = random.Random(31)
    given, wanted, seen = [], [], set()
    assert list(data()["bridges"]) == list(specification.bridges)
    for name in data()["bridges"]:
        bridge = specification.bridges[name]
        left, right = specification.layouts[bridge.left], specification.layouts[bridge.right]
        parameters = {key: int(draw.choice(one.values)) for key, one in bridge.params.items()}
        own = [
            {
                key: parameters.get(key, int(draw.choice(one.values)))
                for key, one in side.layout.params.items()
            }
            for side in (right, left)
        ]
        points = right.points(own[0])
        for point in draw.sample(points, 3):
            known = dict(zip((*right.inputs, *right.outputs), point, strict=True)) | parameters
            arguments = tuple(known)
            if bridge.where and not compiled(bridge.where.tree, arguments)(*known.values()):
                continue
            at = [compiled(bridge.at[key].tree, arguments)(*known.values()) for key in left.inputs]
            held: tuple[int, ...] = ()
            if bridge.through:
                between = specification.layouts[bridge.through.layout]
                size = {key: parameters[key] for key in between.layout.params}
                place = [
                    compiled(bridge.through.at[key].tree, arguments)(*known.values())
                    for key in between.inputs
                ]
                held = next((one for one in between.points(size) if list(one[: len(place)]) == place), ())
                if not held:
                    continue
                outputs = dict(zip((*between.inputs, *between.outputs), held, strict=True))
                known = {key: outputs[key] for key in between.outputs} | parameters
            equal = [compiled(bridge.equals[key].tree, tuple(known))(*known.values()) for key in left.outputs]
            there = next((one for one in left.points(own[1]) if list(one[: len(at)]) == at), ())
            if bridge.holds:
                assert list(there) == [*at, *equal], name
            seen.add((bool(bridge.through), bridge.holds))
            given.append([name, parameters, *own, list(point)])
            wanted.append([list(there) or None, bool(there), list(map(str, held))])
    body = """const data = ptxmma.data.layouts;
    const map = (id, parameters) => ptxmma.maps.table({ id, layout: data.layouts[id], operand: id, parameters });
    return given.map(([name, parameters, ofRight, ofLeft, point]) => {
      const bridge = data.bridges[name];
      const right = map(bridge.right, ofRight), left = map(bridge.left, ofLeft);
      const there = ptxmma.facts.across(bridge, true, right, left, parameters, point);
      const back = there && ptxmma.facts.across(bridge, false, left, right, parameters, there);
      const between = ptxmma.facts.between(data, bridge, right, parameters, point).split(": ")[1] || "";
      return [there, back !== null, between.match(/\\d+/g) || []];
    });"""
    assert len(wanted) > 100 and len(seen) == 3
    found = in_node(SCRIPTS, {"layouts": data()}, given, body)
    assert [one for one in zip(given, found, wanted, strict=True) if one[1] != one[2]] == []
