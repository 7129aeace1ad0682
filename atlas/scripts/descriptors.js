// The page of descriptors: a word and its fields, both ways; whether it is legal; where its matrix lies.
"use strict";

(() => {
  const { element, descriptors: words, shared } = ptxmma;
  const data = ptxmma.data.descriptors;
  const layouts = ptxmma.data.layouts.layouts;
  const by = (id) => document.getElementById(id);
  let state = {};
  let current = {};
  const picture = ptxmma.picture(by("picture"), { data: ptxmma.data.layouts, label: "Shared memory, a cell a bank of a line", picked: onPick });

  const options = (select, values, chosen, shown = (value) => value) =>
    select.replaceChildren(...values.map((value) => element("option", { value, selected: `${value}` === `${chosen}` }, shown(value))));

  function change(values) {
    Object.assign(state, values);
    ptxmma.state.step(state);
    show();
  }

  function given(descriptor) {
    const found = {};
    for (const [name, values] of Object.entries(descriptor.settings)) if (values.includes(Number(state[name])) && state[name] !== "" && state[name] != null) found[name] = Number(state[name]);
    return found;
  }

  // `whole`: the box of the word, too, though somebody may be typing there.
  function show(whole = false) {
    const names = Object.keys(data.descriptors);
    if (!names.includes(state.descriptor)) state.descriptor = names[0];
    const descriptor = data.descriptors[state.descriptor];
    options(by("descriptor"), names, state.descriptor, (name) => `${name}: ${data.descriptors[name].title}`);
    options(by("ptx"), [...data.versions].reverse(), state.ptx || data.versions[data.versions.length - 1]);
    options(by("target"), ["", ...data.targets], state.target || "", (name) => name || "any");
    const chosen = given(descriptor);
    by("settings").replaceChildren(...Object.entries(descriptor.settings).map(([name, values]) => element("label", {}, name, element("select", {
      onchange: (event) => change({ [name]: event.target.value }),
    }, ["", ...values].map((value) => element("option", { value, selected: value === (chosen[name] ?? "") }, value === "" ? "any" : value))))));
    const word = words.number(state.word || initial(descriptor));
    if (whole || document.activeElement !== by("word")) by("word").value = word === null ? state.word : words.hex(descriptor, word);
    const verdict = word === null ? { why: `'${state.word}' is not an integer; write it in decimal or as 0x…` } : words.judge(data, descriptor, word, chosen, state.ptx, state.target);
    tell(descriptor, verdict);
    const values = verdict.fields;
    drawFields(descriptor, word, values || {}, verdict);
    const said = values && !verdict.why && Object.keys(descriptor.says).length ? words.says(descriptor, values, verdict.settings) : {};
    by("says").textContent = Object.keys(said).length ? `It says: ${Object.entries(said).map(([name, value]) => `${name} = ${value}`).join(", ")}.` : "";
    drawProduct(descriptor, word, verdict);
    drawMask(descriptor, values, verdict);
    current = { descriptor, values };
    by("memory").hidden = !values || !descriptor.addresses.length;
    if (!by("memory").hidden) drawMemory();
  }

  // What a select says where the address does not.
  const first = ({ options: [...all] }) => (all.find((one) => one.defaultSelected) || all[0]).value;

  // The word of a descriptor whose fields are all 0, or what they always are.
  function initial(descriptor) {
    return words.hex(descriptor, words.encode(descriptor, {}).word);
  }

  function tell(descriptor, verdict) {
    if (verdict.why) { by("answer").replaceChildren(element("p", { class: "bad" }, verdict.why)); return; }
    const settings = Object.entries(verdict.settings).map(([name, value]) => `${name} = ${value}`).join(", ");
    const legal = !verdict.reasons.length;
    const first = descriptor.rules.length ? `${legal ? "legal" : "illegal"}${settings ? ` with ${settings}` : ""}` : "every bit outside the fields is 0";
    by("answer").replaceChildren(element("p", { class: legal ? "good" : "bad" }, first),
      ...verdict.reasons.map((one) => element("p", {}, `${one.code}: ${one.message}`, one.section ? element("span", { class: "faint" }, " (", ptxmma.cited(one.section), ")") : null)));
  }

  function drawFields(descriptor, word, values, verdict) {
    const focused = document.activeElement?.dataset?.field;
    const wrong = new Set((verdict.reasons || []).map((one) => one.field));
    by("fields").replaceChildren(...Object.entries(descriptor.fields).map(([name, field]) => {
      const value = values[name] ?? 0;
      const label = `${name}, ${field.what}`;
      const problem = element("span", { class: "bad" });
      const set = (wanted) => {
        const one = words.encode({ ...descriptor, fields: { [name]: field } }, { [name]: wanted });
        if (one.why) { problem.textContent = ` ${one.why}`; return; }
        const all = (1n << BigInt(field.high + 1)) - (1n << BigInt(field.low));
        change({ word: words.hex(descriptor, (word & ~all) | one.word) });
      };
      const coded = Object.entries(field.values || {});
      const control = coded.length
        ? element("select", { "aria-label": label, "data-field": name, disabled: word === null, onchange: (event) => set(Number(event.target.value)) },
          [...coded, ...(coded.some(([, code]) => code === value) ? [] : [[`${value}`, value]])].map(([key, code]) => element("option", { value: code, selected: code === value }, `${key} (${code})`)))
        : element("input", { type: "number", min: 0, max: words.limit(field), step: field.unit, value, "aria-label": label, "data-field": name, disabled: word === null, onchange: (event) => set(Number(event.target.value)) });
      const may = field.constant !== undefined ? `${field.constant * field.unit} only` : coded.length ? "" : `0..${words.limit(field)}${field.unit > 1 ? `, by ${field.unit}` : ""}`;
      return element("tr", {}, element("td", {}, `${field.low}..${field.high}`), element("th", { scope: "row", class: wrong.has(name) ? "bad" : null }, name, element("div", { class: "faint" }, field.what)), element("td", {}, control, problem), element("td", {}, may));
    }));
    if (focused) by("fields").querySelector(`[data-field="${focused}"]`)?.focus();
  }

  // The way to the parts of a product that a legal word describes, in tensor memory.
  function drawProduct(descriptor, word, verdict) {
    const legal = !verdict.why && !verdict.reasons.length;
    const found = legal && ptxmma.choice.product(ptxmma.data.layouts, state.descriptor, verdict.settings);
    by("product").hidden = !found;
    if (!found) return;
    const { mnemonic, parts } = found;
    const link = (operand) => element("a", { href: `layouts.html#${new URLSearchParams({ mnemonic, operand, idesc: words.hex(descriptor, word) })}` }, operand);
    by("product").replaceChildren("In tensor memory, as ", element("code", {}, mnemonic), " has them: ", ...parts.flatMap((one, i) => (i ? [", ", link(one)] : [link(one)])), ".");
  }

  function drawMask(descriptor, values, verdict) {
    by("mask").hidden = !descriptor.columns || !values || Boolean(verdict.why);
    if (by("mask").hidden) return;
    const { counts } = descriptor.columns;
    by("mask").replaceChildren(...counts.map((count) => element("span", { class: "line" }, `Of ${count} columns it zeroes ${words.ranges(words.zeroed(descriptor, values, count, verdict.settings))}.`)));
  }

  function drawMemory() {
    const { descriptor, values } = current;
    const rows = Number(state.rows || 16);
    for (const name of ["major", "bytes", "rows", "colour"]) by(name).value = state[name] || first(by(name));
    const one = shared.matrix(data, layouts, descriptor, values, by("major").value, Number(by("bytes").value));
    by("picture").hidden = Boolean(one.why);
    if (one.why) { by("place").replaceChildren(element("p", {}, one.why)); return; }
    const [x, k] = [Number(state.row || 0), Number(state.k || 0)];
    by("row").value = x;
    by("k").value = k;
    const map = shared.map(one, Math.min(rows, one.sizes.x), one.sizes.k);
    const grid = ptxmma.grid.grid(map, "matrix");
    grid.rowName = (line) => `0x${((line + map.least) * 128).toString(16)}`;
    current = { ...current, one, map, grid };
    const inside = x < one.sizes.x && k < one.sizes.k && x >= 0 && k >= 0;
    const reads = inside ? shared.reads(one, x, k) : [];
    const turns = inside ? shared.turns(one, reads) : 0;
    by("place").replaceChildren(element("p", {}, shared.sentence(one, x, k)), ...(inside ? [element("p", {}, `Eight reads of 16 bytes here, one ${by("major").value === "K" ? "a row" : "a k"}, take ${turns === 1 ? "one turn: every bank is asked once" : `${turns} turns: a bank is asked for ${turns} lines`}.`)] : []));
    const starts = new Set(reads.map(([r, c]) => one.address(r, c) - map.least * 128));
    const mine = (at) => {
      const address = map.points[at] * 128 + map.points[at + 1] * 4 + map.points[at + 2];
      return starts.has(address - (address % 16));
    };
    const own = inside ? one.address(x, k) - map.least * 128 : -1;
    const cell = inside && x < rows ? Math.floor(own / 128) * grid.cols + Math.floor((own % 128) / 4) : -1;
    picture.show(grid, { key: by("colour").value, zoom: "fit", cell, mine });
  }

  function onPick(cell, kept) {
    const { grid, map } = current;
    if (!grid || cell < 0) return;
    const points = ptxmma.grid.cellPoints(grid, cell);
    if (!points.length) return;
    const [, , , x, k] = ptxmma.maps.point(map, points[0]);
    if (kept) change({ row: x, k });
  }

  // The state of an example: of the first, or of a descriptor; {} where there is none.
  function example(descriptor) {
    const states = [...by("start").querySelectorAll("a")].map((link) => Object.fromEntries(new URLSearchParams(link.hash.slice(1))));
    return states.find((one) => !descriptor || one.descriptor === descriptor) || {};
  }

  by("descriptor").addEventListener("change", (event) => {
    const { ptx, target } = state;
    const descriptor = event.target.value;
    state = {};
    change({ ...example(descriptor), descriptor, ptx, target });
  });
  by("word").addEventListener("input", (event) => change({ word: event.target.value }));
  for (const name of ["ptx", "target", "major", "bytes", "rows", "colour"]) by(name).addEventListener("change", (event) => change({ [name]: event.target.value }));
  for (const name of ["row", "k"]) by(name).addEventListener("input", (event) => { if (event.target.value !== "") change({ [name]: event.target.value }); });
  by("choice").addEventListener("submit", (event) => event.preventDefault());

  function read() {
    state = ptxmma.state.read();
    by("start").open = Object.keys(state).length === 0;
    if (by("start").open) state = example();
    show(true);
  }
  ptxmma.state.heed(read);
  read();
})();
