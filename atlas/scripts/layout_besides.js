// A second map beside the first: the other end of a bridge, or any layout; the place that a picked one comes to.
"use strict";

ptxmma.besides = function (box, data, { changed }) {
  const { element, choice, maps, facts, grid: grids } = ptxmma;
  let shown = null;
  let listed = "";
  const select = element("select", { "aria-label": "Compare with", onchange: (event) => changed({ bridge: event.target.value, beside: "", of: "" }) });
  const names = element("datalist", { id: "others" });
  const mnemonic = element("input", { list: "others", autocomplete: "off", spellcheck: "false", oninput: (event) => typed(event.target.value.trim()) });
  const operand = element("select", { "aria-label": "Its operand", onchange: (event) => changed({ of: event.target.value }) });
  const title = element("p", {});
  const sliders = element("div", { class: "controls" });
  const place = element("div", {});
  const answer = element("p", { "aria-live": "polite" });
  const why = element("p", { "aria-live": "polite" });
  const panel = element("div", { hidden: true }, title, sliders, answer, place);
  box.replaceChildren(element("h2", {}, "Side by side"), element("div", { class: "controls" }, element("label", {}, "With", select), element("label", { class: "wide" }, "or with a mnemonic ", mnemonic), names, operand), why, panel);
  const picture = ptxmma.picture(place, { data, label: "The other map", picked: onPick });

  function onPick(cell) {
    if (cell < 0 || !shown) return;
    const points = grids.cellPoints(shown.grid, cell);
    if (points.length) answer.textContent = maps.sentence(shown.map, maps.point(shown.map, points[0]));
  }

  function typed(text) {
    const found = choice.find(data, text);
    if (found || !text) changed({ beside: found ? choice.mnemonic(found.instruction, found.variant) : "", of: "", bridge: "" });
    else names.replaceChildren(...(text.length > 2 ? choice.containing(data, text, 30) : []).map((value) => element("option", { value })));
  }

  // A bridge from a map to a layout with these parameters, a proven one first; "" where none is known.
  function between(map, other, parameters = {}) {
    const agrees = ([key, values]) => {
      const own = [map.parameters, parameters].filter((one) => key in one).map((one) => one[key]);
      return new Set(own).size < 2 && own.every((value) => values.includes(value));
    };
    const fitting = facts.bridges(data, map.id).filter(([, one]) => (one.right === map.id ? one.left : one.right) === other && Object.entries(one.params).every(agrees));
    return fitting.sort(([, one], [, two]) => two.holds - one.holds).map(([name]) => name)[0] || "";
  }

  // The operand of a mnemonic beside the map; its operands that a bridge leads to are marked.
  function drawOperands(map, answer, state) {
    if (document.activeElement !== mnemonic) mnemonic.value = state.beside || "";
    const all = answer && answer.found ? choice.operands(data, answer.found.variant) : [];
    operand.hidden = !all.length;
    operand.replaceChildren(...all.map((one) => element("option", { value: one.name, selected: one === answer.own }, one.name + (one.layout && between(map, one.layout) ? " (a bridge)" : ""))));
  }

  function hide() {
    box.hidden = true;
    shown = null;
  }

  function show({ map }, state) {
    box.hidden = false;
    const bridges = facts.bridges(data, map.id);
    const others = Object.keys(data.layouts);
    const key = `${map.id} ${state.bridge}`;
    if (listed !== key) select.replaceChildren(
      element("option", { value: "" }, "nothing"),
      ...[["bridges (proven)", true], ["no bridges (refuted)", false]].map(([label, holds]) => element("optgroup", { label }, bridges.filter(([, one]) => one.holds === holds).map(([name, one]) => element("option", { value: name, selected: state.bridge === name }, one.title)))),
      element("optgroup", { label: "layouts of operands" }, others.map((id) => element("option", { value: `=${id}`, selected: state.bridge === `=${id}` }, `${id}: ${data.layouts[id].title}`))),
    );
    listed = key;
    const given = Object.fromEntries(Object.entries(state).filter(([key]) => key.startsWith("with.")).map(([key, value]) => [key.slice(5), value]));
    const named = state.beside ? choice.tableOf(data, { ...given, mnemonic: state.beside, operand: state.of || "" }) : null;
    drawOperands(map, named, state);
    if (named && !named.map) {
      panel.hidden = true;
      shown = null;
      why.textContent = named.why;
      return;
    }
    why.textContent = "";
    const name = named ? between(map, named.map.id, named.map.parameters) || `=${named.map.id}` : state.bridge || "";
    const bridge = bridges.some(([own]) => own === name) ? data.bridges[name] : null;
    const id = bridge ? (bridge.right === map.id ? bridge.left : bridge.right) : name.slice(1);
    panel.hidden = !(bridge || (name.startsWith("=") && id in data.layouts));
    if (panel.hidden) { shown = null; return; }
    const layout = data.layouts[id];
    const fixed = {};
    const parameters = {};
    for (const [key, values] of Object.entries(bridge ? bridge.params : {})) {
      const mine = { ...given, ...(named ? named.map.parameters : {}), ...map.parameters }[key];
      parameters[key] = values.includes(Number(mine)) ? Number(mine) : values[0];
      fixed[key] = parameters[key];
    }
    const own = named ? named.map.parameters : maps.parametersOf(layout, {}, { ...map.parameters, ...given, ...fixed });
    const other = named ? named.map : maps.table({ id, layout, operand: id, parameters: own });
    shown = { map: other, grid: grids.grid(other, "matrix"), bridge, forward: bridge && bridge.right === map.id, parameters };
    title.textContent = named && !bridge ? `${named.map.title}. No bridge between the two is known; the cells of the same thread have a dark border.` : bridge ? [`${bridge.title} (${id}).`, ...facts.bridgeWords(bridge)].join(" ") : layout.title;
    const open = Object.entries(bridge ? bridge.params : layout.params).filter(([key, values]) => values.length > 1 && !(bridge && key in map.layout.params) && !(named && (key in named.map.stated || key in named.map.fixed)));
    sliders.replaceChildren(...open.map(([key, values]) => element("label", {}, key, element("select", {
      onchange: (event) => changed({ [`with.${key}`]: event.target.value }),
    }, values.map((value) => element("option", { value, selected: (bridge ? parameters : own)[key] === value }, value))))));
  }

  // Mark what the picked point of the first map comes to.
  function mark({ map }, numbers) {
    if (!shown) return;
    const { bridge, forward, parameters, grid } = shown;
    let point = null;
    if (bridge && numbers) {
      point = facts.across(bridge, forward, map, shown.map, parameters, numbers);
      const between = point ? facts.between(data, bridge, forward ? map : shown.map, parameters, forward ? numbers : point) : "";
      answer.textContent = point ? `There it is ${maps.sentence(shown.map, point)}.${between}` : "The bridge says nothing about this place with these parameters.";
    } else {
      answer.textContent = bridge ? "Pick a place above." : "";
    }
    const found = point ? maps.ask(shown.map, Object.fromEntries(shown.map.inputs.map((name, i) => [name, point[i]]))).found : [];
    const thread = numbers && !bridge && map.inputs[0] === "t" && shown.map.inputs[0] === "t" ? numbers[0] : -1;
    picture.show(grid, {
      key: Object.keys(grids.keys(shown.map))[0], zoom: "fit", cell: found.length ? grid.cell[found[0]] : -1,
      mine: thread >= 0 ? (k) => shown.map.points[k] === thread : null,
    });
  }

  return { show, mark, hide };
};
