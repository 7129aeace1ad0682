"""The explorer's answers in node are those of `ptxmma layout`, for every operand and every layout."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from ptxmma.atlas.descriptor_data import descriptor_data
from ptxmma.atlas.layout_data import layout_data
from ptxmma.gen.pictures.places import is_placed
from ptxmma.gen.pictures.tables import MapTable, layout_table, table_of
from ptxmma.spec.api import load
from ptxmma.spec.descriptor_rules import judge_word, values_of
from ptxmma.spec.errors import Question
from ptxmma.spec.memory_records import Descriptor
from ptxmma.spec.variants import Variant

from .in_node import in_node

Run = Callable[..., tuple[int, str, str]]
SCRIPTS = (
    "layout_maps", "descriptor_words", "layout_words", "layout_choice", "layout_facts", "layout_exports",
)  # fmt: skip
OPTIONS = {"s": "selector", "thread_id": "thread-id", "byte_id": "byte-id"}


@cache
def data() -> dict[str, Any]:
    return layout_data(load())


def chosen_modes(params: Mapping[str, Any], stated: Mapping[str, int], draw: random.Random) -> dict[str, int]:
    return {name: draw.choice(values) for name, values in params.items() if name not in stated}


def maps(draw: random.Random) -> Iterator[tuple[dict[str, Any], list[str], MapTable]]:
    """A state of the page, the arguments of the command, and the map, for every operand and placed layout."""
    specification = load()
    seen = set()
    for family in specification.families.values():
        for variant, row in zip(
            family.variants(), data()["instructions"][family.instruction.instruction]["variants"], strict=True
        ):
            for number in data()["sets"][row[-1]]["operands"]:
                own = data()["operands"][number]
                if number in seen or "layout" not in own:
                    continue
                seen.add(number)
                modes = chosen_modes(data()["layouts"][own["layout"]]["params"], own["stated"], draw)
                words = [f"--{OPTIONS[name]}={value}" for name, value in modes.items()]
                state = {"mnemonic": variant.mnemonic, "operand": own["name"], **modes}
                table = table_of(specification, variant, own["name"], selectors=modes)
                yield state, [variant.mnemonic, "--operand", own["name"], *words], table
    for name, layout in specification.layouts.items():
        if is_placed(layout):
            params = chosen_modes(data()["layouts"][name]["params"], {}, draw)
            words = [f"--with={key}={value}" for key, value in params.items()]
            yield {"layout": name, **params}, [name, *words], layout_table(specification, name, params)


def flag(table: MapTable, name: str) -> str:
    return {"t": "thread", "i": "element"}.get(name, name)


def test_every_map_answers_as_the_command_does(run: Run) -> None:
    draw = random.Random(19)
    asked, wanted = [], []
    for state, words, table in maps(draw):
        layout = table.layout
        points = layout.points(table.parameters)
        names = (*layout.inputs, *layout.outputs)
        cut = len(layout.inputs)
        placed = "t" not in layout.inputs or is_placed(layout)
        for by in (range(cut), range(cut, cut + min(2, len(names) - cut))):
            point = draw.choice(points)
            numbers = {flag(table, names[i]): point[i] for i in by}
            if not set(numbers) <= {
                "thread",
                "element",
                "bit",
                "matrix",
                "row",
                "col",
                "chunk",
                "lane",
                "column",
                "cta",
                "byte",
            }:
                continue  # the command has no option for it
            _, out, err = run("layout", *words, *(f"--{name}={value}" for name, value in numbers.items()))
            assert not err, (words, numbers, err)
            lines = [line for line in out.splitlines() if not line.startswith(("witnesses", "  ", "warp "))]
            asked.append([state, numbers])
            wanted.append(lines)
            assert placed or lines
    assert len(wanted) > 500
    assert (
        in_node(
            SCRIPTS,
            {"layouts": data()},
            asked,
            """return given.map(([state, numbers]) => {
                 const { map } = ptxmma.choice.tableOf(ptxmma.data.layouts, state);
                 const { found, why } = ptxmma.maps.ask(map, numbers);
                 return found.length ? found.map((one) => ptxmma.maps.sentence(map, ptxmma.maps.point(map, one))) : [why];
               });""",
        )
        == wanted
    )


def test_loads_of_a_place_are_those_of_the_command(run: Run) -> None:
    draw = random.Random(37)
    asked, wanted = [], []
    for name in ("tcgen05.d.D", "tcgen05.d.F", "tcgen05.scale-a.1X"):
        layout = load().layouts[name]
        params = chosen_modes(data()["layouts"][name]["params"], {}, draw)
        point = dict(zip((*layout.inputs, *layout.outputs), draw.choice(layout.points(params)), strict=True))
        numbers = {key: point[key] for key in layout.inputs}
        words = [f"--with={key}={value}" for key, value in params.items()]
        _, out, _ = run("layout", name, *words, *(f"--{key}={value}" for key, value in numbers.items()))
        lines = [" ".join(line.split()) for line in out.splitlines()]
        state: dict[str, Any] = {"layout": name, **params}
        asked.append([state, list(point.values())])
        wanted.append([line for line in lines if " at lane " in line or line.startswith("warp ")])
    body = """return given.map(([state, numbers]) => {
      const { map } = ptxmma.choice.tableOf(ptxmma.data.layouts, state);
      return ptxmma.facts.loadLines(ptxmma.data.layouts, map, numbers);
    });"""
    assert all(wanted) and in_node(SCRIPTS, {"layouts": data()}, asked, body) == wanted


def legal_word(descriptor: Descriptor, settings: Mapping[str, int], draw: random.Random) -> int | None:
    """A word that is legal with settings: fields drawn, then one after another set to what is refused least."""
    word = 0
    for name in [*descriptor.fields, *draw.sample(list(descriptor.fields), len(descriptor.fields))]:
        field = descriptor.fields[name]
        without = word & ~((1 << field.high + 1) - (1 << field.low))
        values = list(values_of(field))
        words = [without | value // field.unit << field.low for value in draw.sample(values, len(values))]
        word = min(words, key=lambda one: len(judge_word(descriptor, one, settings, lambda _: True).refusals))
    return word if judge_word(descriptor, word, settings, lambda _: True) else None


def placed_by(variant: Variant, operand: str, word: int) -> tuple[MapTable | str, dict[str, int]]:
    """The map of an operand by a word, and what was given beside it where that leaves a parameter open; or why not."""
    given: dict[str, int] = {}
    while True:
        try:
            return table_of(load(), variant, operand, selectors=given, word=word), given
        except Question as question:
            open_ = re.search(r" needs (\w+): one of (\d+)", str(question))
            if open_ is None:
                return str(question), given
            given[open_[1]] = int(open_[2])


def test_a_word_places_a_product_as_the_command_does() -> None:
    draw = random.Random(23)
    specification = load()
    asked, wanted = [], []
    seen: set[str] = set()
    for name, instruction in data()["instructions"].items():
        family = specification.families[name]
        for variant, row in zip(family.variants(), instruction["variants"], strict=True):
            placed = [data()["operands"][n] for n in data()["sets"][row[-1]]["operands"]]
            for own in (one for one in placed if "choices" in one and draw.random() < 0.1):
                if (key := str(own)) in seen:
                    continue
                seen.add(key)
                descriptor = specification.descriptors[own["descriptor"]]
                words = [legal_word(descriptor, own["settings"], draw)]
                for word in (*(w for w in words if w is not None), draw.getrandbits(32)):
                    table, given = placed_by(variant, own["name"], word)
                    state = {
                        "mnemonic": variant.mnemonic,
                        "operand": own["name"],
                        "idesc": hex(word),
                        **given,
                    }
                    if isinstance(table, str):
                        asked.append([state, {}])
                        wanted.append([table])
                        continue
                    point = draw.choice(table.layout.points(table.parameters))
                    asked.append([state, dict(zip(table.layout.inputs, point, strict=False))])
                    wanted.append([table.title, table.layout.layout.id, ", ".join(map(str, point))])
    body = """return given.map(([state, numbers]) => {
      const { map, why } = ptxmma.choice.tableOf(ptxmma.data.layouts, state);
      if (!map) return [why];
      const { found } = ptxmma.maps.ask(map, numbers);
      return [map.title, map.id, ptxmma.maps.point(map, found[0]).join(", ")];
    });"""
    titles = [one for one in wanted if len(one) > 1]
    assert len(titles) > 50 and len({one[1] for one in titles}) > 15 and len(wanted) > len(titles)
    data_given = {"layouts": data(), "descriptors": descriptor_data(specification)}
    found = in_node(SCRIPTS, data_given, asked, body)
    assert [one for one in zip(asked, found, wanted, strict=True) if one[1] != one[2]] == []
