// The page of the explorer: its controls, its state in the address, and what it shows of a picked place.
"use strict";

(() => {
  const { element, choice, maps, facts, grid: grids } = ptxmma;
  const data = ptxmma.data.layouts;
  const by = (id) => document.getElementById(id);
  const own = ["mnemonic", "operand", "layout", "view", "colour", "zoom", "bridge", "beside", "of", "idesc"];
  let state = {};
  let current = {};
  const main = ptxmma.picture(by("picture"), { data, label: "The matrix, a cell a place", picked: onPick });
  const beside = ptxmma.besides(by("besides"), data, { changed: (values) => { Object.assign(state, values); write(); show(); } });

  function write() {
    ptxmma.state.step(state);
  }

  // The numbers that name a point's cell, as the state has them.
  function named({ map, grid }, numbers) {
    const value = (name) => (name === "register" ? maps.place(map, numbers[1])[0] : numbers[maps.questionNames(map)[name]]);
    return Object.fromEntries([...grid.blocks, grid.down, grid.across].map((name) => [name, value(name)]));
  }

  function clearQuestion() {
    for (const name of Object.keys(state)) if (isQuestion(name)) delete state[name];
  }

  function isQuestion(name) {
    return !own.includes(name) && !name.startsWith("with.") && !(current.map && name in current.map.parameters) && !Object.values(data.layouts).some((layout) => name in layout.params);
  }

  function asked() {
    const found = {};
    for (const [name, value] of Object.entries(state)) if (isQuestion(name) && value !== "") found[name] = Number(value);
    return found;
  }

  function onPick(cell, kept) {
    const { map, grid } = current;
    if (!map) return;
    if (!kept) { say(cell < 0 ? current.found : grids.cellPoints(grid, cell), cell < 0 ? current.why : "nothing lies here"); return; }
    const points = grids.cellPoints(grid, cell);
    clearQuestion();
    if (points.length) Object.assign(state, named(current, maps.point(map, points[0])));
    write();
    pick(cell, points, points.length ? "" : "nothing lies here");
  }

  function pick(cell, found, why) {
    Object.assign(current, { cell, found, why });
    const { map } = current;
    const thread = found.length && map.inputs[0] === "t" ? maps.point(map, found[0])[0] : -1;
    main.show(current.grid, {
      key: by("colour").value, zoom: state.zoom || "fit", cell,
      mine: thread >= 0 ? (k) => map.points[k] === thread : null,
    });
    say(found, why);
    explain(found);
    beside.mark(current, found.length ? maps.point(map, found[0]) : null);
  }

  const most = 8; // sentences that are said at once

  function say(found, why) {
    const { map } = current;
    const lines = found.slice(0, most).map((number) => maps.sentence(map, maps.point(map, number)));
    if (found.length > most) lines.push(`and ${found.length - most} more`);
    by("answer").replaceChildren(...(lines.length ? lines : [why || "Pick a cell, or ask."]).map((line) => element("p", {}, line)));
  }

  // What a kept place comes to beside its sentence; not what is hovered, so that the picture stays where it is.
  function explain(found) {
    by("facts").replaceChildren(...(found.length === 1 ? further(maps.point(current.map, found[0])) : []).map((line) => element("p", {}, line)));
  }

  function further(numbers) {
    return choice.isPacked(data, current) ? facts.metadataLines(data, state, current.variant, numbers) : facts.loadLines(data, current.map, numbers);
  }

  function options(select, values, chosen, shown = (value) => value) {
    select.replaceChildren(...values.map((value) => element("option", { value, selected: value === chosen }, shown(value))));
    select.parentElement.hidden = values.length === 0;
  }

  function drawControls(answer, whole) {
    const found = answer.found;
    by("instruction").value = found ? found.name : "";
    if (whole || document.activeElement !== by("mnemonic")) by("mnemonic").value = state.mnemonic || "";
    const fields = found ? Object.keys(found.instruction.fields) : [];
    const chosen = found ? found.variant : [];
    by("fields").replaceChildren(...fields.filter((field) => found.instruction.fields[field].length > 1).map((field) => {
      const at = fields.indexOf(field);
      const own = choice.words(found.instruction, chosen, field);
      return element("label", {}, field, element("select", {
        "data-field": field, disabled: own.length < 2,
        onchange: (event) => {
          const wanted = [...chosen.slice(0, -1)];
          wanted[at] = Number(event.target.value);
          change({ mnemonic: choice.mnemonic(found.instruction, choice.nearest(found.instruction, [...wanted.slice(0, at + 1), ...wanted.slice(at + 1)])) });
          by("fields").querySelector(`[data-field="${field}"]`)?.focus();
        },
      }, own.map((word) => element("option", { value: word, selected: word === chosen[at] }, found.instruction.fields[field][word] ?? "none"))));
    }));
    const operands = found ? choice.operands(data, found.variant) : [];
    options(by("operand"), operands.map((one) => one.name), answer.own ? answer.own.name : "");
    const described = Boolean(answer.own && answer.own.choices);
    by("idesc").parentElement.hidden = !described;
    if (whole || document.activeElement !== by("idesc")) by("idesc").value = state.idesc || "";
    const ids = !found ? Object.keys(data.layouts) : described && state.idesc ? [] : answer.own && answer.own.choices ? Object.keys(answer.own.choices) : [];
    options(by("layout"), ids, answer.map ? answer.map.id : state.layout, (id) => (found ? `${id}: ${Object.entries(answer.own.choices[id]).map(([name, values]) => `${name} ${values.join("/")}`).join(", ")}` : id));
    by("layout").parentElement.hidden = ids.length < 2;
  }

  function slider(name, values, chosen, change) {
    const output = element("span", { class: "value" }, `${chosen}`); // an <output> would take the label from the slider
    return element("label", {}, `${name} `, output, element("input", {
      type: "range", min: 0, max: values.length - 1, value: values.indexOf(chosen), "aria-label": name, "aria-valuetext": `${chosen}`, "data-name": name,
      oninput: (event) => { const value = values[event.target.value]; output.textContent = value; event.target.setAttribute("aria-valuetext", value); change(value); },
    }));
  }

  function drawParameters(answer) {
    const { map, found, own: operand } = answer;
    const sliders = [];
    for (const [name, values] of Object.entries(map.layout.params)) {
      if (name in map.stated) {
        const steps = choice.steps(data, found, operand, name);
        if (steps.length > 1) sliders.push(slider(name, steps.map(([value]) => value), map.stated[name], (value) => change({ mnemonic: new Map(steps).get(value) }, true)));
      } else if (values.length > 1 && !(name in map.fixed)) {
        sliders.push(slider(maps.parameterName(name), values, map.parameters[name], (value) => change({ [name]: value }, true)));
      }
    }
    if (choice.isPacked(data, { map, own: operand, variant: found })) {
      const coded = choice.tableOf(data, { ...state, operand: "metadata", layout: "" }).map;
      const values = coded && coded.layout.params.s;
      if (values && values.length > 1) sliders.push(slider("selector (of the metadata)", values, coded.parameters.s, (value) => change({ s: value }, true)));
    }
    by("parameters").replaceChildren(...sliders);
  }

  function about(map) {
    const { layout } = map;
    const line = (name, text) => element("tr", {}, element("th", { scope: "row" }, element("code", {}, name)), element("td", {}, element("code", {}, text)));
    by("about").replaceChildren(...[
      element("p", {}, `${layout.title}. Section `, ptxmma.cited(layout.section), `${layout.origin ? ` (${layout.origin})` : ""}; layout `, element("a", { href: `#layout=${map.id}` }, map.id), "."),
      element("div", { class: "scroll", tabindex: "0" }, element("table", {}, Object.entries({ ...layout.let, ...layout.formulas }).map(([name, text]) => line(name, text)))),
      map.mnemonic || map.placed ? element("p", { class: "faint" }, "In a terminal: ", element("code", {}, `ptxmma layout ${map.mnemonic || map.id}${map.mnemonic ? ` --operand ${map.operand}${state.idesc && current.own.choices ? ` --idesc ${state.idesc}` : ""}` : ""}`)) : null,
    ].filter(Boolean));
  }

  // `whole`: the boxes, too, though somebody may be typing there.
  function show(keepSliders = false, whole = false) {
    const answer = choice.tableOf(data, state);
    const { map } = answer;
    drawControls(answer, whole);
    current = { map, own: answer.own, variant: answer.found, found: [], why: "", cell: -1 };
    by("title").textContent = map ? map.title : state.mnemonic || "";
    for (const id of ["picture", "legend", "about", "asking"]) by(id).hidden = !map;
    if (!map) {
      by("parameters").replaceChildren();
      by("facts").replaceChildren();
      by("answer").replaceChildren(element("p", {}, answer.why));
      if (answer.own && answer.own.shared) by("answer").append(element("p", {}, element("a", { href: `descriptors.html#descriptor=${answer.own.shared}` }, "Where its elements lie, with swizzles and banks")));
      beside.hide();
      return;
    }
    if (!keepSliders) drawParameters(answer);
    const both = map.packed || map.outputs.includes("chunk") && !map.placed;
    by("view").parentElement.hidden = !both;
    const view = both && state.view === "registers" ? "registers" : "matrix";
    by("view").value = view;
    current.grid = grids.grid(map, view);
    const keys = Object.keys(grids.keys(map));
    options(by("colour"), keys, keys.includes(state.colour) ? state.colour : keys[0]);
    by("zoom").value = state.zoom || "fit";
    const numbers = asked();
    const { found, why } = Object.keys(numbers).length ? maps.ask(map, numbers) : { found: [], why: "" };
    beside.show(current, state);
    pick(found.length ? current.grid.cell[found[0]] : -1, found, why);
    about(map);
  }

  function change(values, keepSliders = false) {
    Object.assign(state, values);
    write();
    show(keepSliders);
  }

  // Another operand has other names for its places: those that it lacks are forgotten.
  function changeOperand(values) {
    Object.assign(state, values);
    const { map } = choice.tableOf(data, state);
    if (map) for (const name of Object.keys(asked())) if (!(name in maps.questionNames(map))) delete state[name];
    write();
    show();
  }

  const names = Object.keys(data.instructions).filter((name) => data.instructions[name].variants.some((variant) => choice.operands(data, variant).length));
  options(by("instruction"), ["", ...names], "", (name) => name || "a layout alone");
  by("instruction").addEventListener("change", (event) => {
    const name = event.target.value;
    const start = [...by("start").querySelectorAll("[data-instruction]")].find((one) => one.dataset.instruction === name);
    const { mnemonic } = start ? Object.fromEntries(new URLSearchParams(start.querySelector("a").hash.slice(1))) : {};
    changeOperand(mnemonic ? { mnemonic, operand: "", layout: "" } : { mnemonic: "", operand: "", layout: Object.keys(data.layouts)[0] });
  });
  by("operand").addEventListener("change", (event) => changeOperand({ operand: event.target.value, layout: "" }));
  by("layout").addEventListener("change", (event) => changeOperand({ layout: event.target.value }));
  by("view").addEventListener("change", (event) => change({ view: event.target.value === "matrix" ? "" : event.target.value }));
  by("colour").addEventListener("change", (event) => change({ colour: event.target.value }));
  by("zoom").addEventListener("change", (event) => change({ zoom: event.target.value === "fit" ? "" : event.target.value }));
  by("idesc").addEventListener("input", (event) => changeOperand({ idesc: event.target.value.trim(), layout: "" }));
  by("mnemonic").addEventListener("input", (event) => {
    const text = event.target.value.trim();
    if (choice.find(data, text)) { changeOperand({ mnemonic: text.replace(/;$/, "").trim(), layout: "" }); return; }
    by("mnemonics").replaceChildren(...(text.length > 2 ? choice.containing(data, text, 30) : []).map((value) => element("option", { value })));
  });
  by("mnemonic").addEventListener("change", (event) => {
    const text = event.target.value.trim();
    if (text in data.layouts) changeOperand({ mnemonic: "", operand: "", layout: text });
    else if (text && !choice.find(data, text)) by("answer").replaceChildren(element("p", {}, `no instruction is spelled ${text}`));
  });
  by("choice").addEventListener("submit", (event) => event.preventDefault());
  by("asking").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!current.map) return;
    clearQuestion();
    const numbers = maps.question(current.map, by("question").value);
    if (!Object.keys(numbers).length) { by("answer").replaceChildren(element("p", {}, `ask by numbers of ${current.map.spoken.join(", ")}`)); return; }
    change(numbers);
  });
  by("link").addEventListener("click", () => { show_text(location.href); navigator.clipboard?.writeText(location.href).catch(() => {}); });
  function show_text(text) {
    by("exported").hidden = false;
    by("exported").textContent = text.length > 4000 ? `${text.slice(0, 4000)}\n…` : text;
  }
  for (const button of document.querySelectorAll("[data-export]")) {
    button.addEventListener("click", () => {
      const { map, grid } = current;
      if (!map) return;
      const kind = button.dataset.export;
      const name = map.title.replace(/[^A-Za-z0-9.]+/g, "_");
      const made = {
        csv: () => ({ text: `${ptxmma.exports.csv(map)}\n`, type: "text/csv" }),
        svg: () => ({ text: ptxmma.exports.svg(data, grid, by("colour").value), type: "image/svg+xml" }),
        cute: () => ptxmma.exports.cute(map),
        cuda: () => ({ text: ptxmma.exports.cuda(map), end: "cuh" }),
      }[kind]();
      show_text(made.text || made.why);
      if (made.text && kind !== "cute") ptxmma.download(`${name}.${made.end || kind}`, made.text, made.type);
    });
  }
  function read() {
    const before = JSON.stringify(asked());
    const { name, field } = document.activeElement?.dataset || {};
    state = ptxmma.state.read();
    by("question").value = "";
    by("start").open = Object.keys(state).length === 0;
    if (by("start").open) state = Object.fromEntries(new URLSearchParams(by("start").querySelector("a").hash.slice(1)));
    show(false, true);
    by("choice").parentElement.querySelector(field ? `[data-field="${field}"]` : `[data-name="${name}"]`)?.focus();
    if (Object.keys(asked()).length && JSON.stringify(asked()) !== before) reveal();
  }
  // On a small screen the answer to a link is below the controls: it is brought into sight.
  function reveal() {
    if (by("answer").getBoundingClientRect().bottom > innerHeight) by("title").scrollIntoView();
  }
  ptxmma.state.heed(read);
  read();
})();
