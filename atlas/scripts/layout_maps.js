// Layouts as maps: every point of one, from the formulas of data/layouts.js; nothing here draws.
"use strict";

globalThis.ptxmma = globalThis.ptxmma || { data: {} };

ptxmma.maps = (() => {
  const compiled = new Map();

  // A function of some names, from its text in the data.
  function formula(text, names) {
    const key = `${names.join()}|${text}`;
    if (!compiled.has(key)) compiled.set(key, new Function(...names, `return ${text};`));
    return compiled.get(key);
  }

  function sizes(texts, parameters) {
    const names = Object.keys(parameters);
    const values = Object.values(parameters);
    return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, formula(text, names)(...values)]));
  }

  // Every point as inputs and outputs, one after another, in the order of the inputs.
  function points(layout, parameters) {
    const names = Object.keys(parameters);
    const inputs = Object.entries(sizes(layout.inputs, parameters));
    const outputs = Object.keys(layout.outputs);
    const width = inputs.length + outputs.length;
    const total = inputs.reduce((product, [, size]) => product * size, 1);
    const key = `${layout.title}|${names.join()}|${JSON.stringify(parameters)}`;
    if (!compiled.has(key)) {
      const loops = inputs.map(([name, size]) => `for (let ${name} = 0; ${name} < ${size}; ${name}++)`).join(" ");
      const stores = [...inputs.map(([name]) => name), ...outputs.map((name) => `(${layout.map[name]})`)]
        .map((text) => `$out[$at++] = ${text};`).join(" ");
      const kept = layout.where ? `if (!(${layout.where})) continue;` : "";
      compiled.set(key, new Function("$out", ...names, `let $at = 0; ${loops} { ${kept} ${stores} } return $at;`));
    }
    const made = new Int32Array(total * width);
    const length = compiled.get(key)(made, ...Object.values(parameters));
    return made.subarray(0, length);
  }

  // A value for each parameter: one that is stated or given, the only one, or the first that is allowed.
  function parametersOf(layout, stated, given) {
    const chosen = {};
    for (const [name, values] of Object.entries(layout.params)) {
      const wanted = name in stated ? stated[name] : Number(given[name]);
      chosen[name] = values.includes(wanted) ? wanted : values.includes(0) ? 0 : values[0];
    }
    return chosen;
  }

  const said = { s: "selector" };
  const parameterName = (name) => said[name] || name.replaceAll("_", "-");
  const pointNames = { t: "thread", i: "element" };

  // The map of an operand of a mnemonic, or of a layout alone (then `mnemonic` is empty).
  function table({ id, layout, parameters, stated = {}, fixed = {}, operand, mnemonic = "", width = 0, word = 0 }) {
    const inputs = Object.keys(layout.inputs);
    const outputs = Object.keys(layout.outputs);
    const packed = width > 0;
    const placed = ["lane", "column"].every((name) => inputs.includes(name) || outputs.includes(name)) || !inputs.includes("t");
    const chosen = Object.entries(parameters).filter(([name]) => !(name in stated)).map(([name, value]) => `${parameterName(name)} ${value}`);
    if (mnemonic && layout.part) chosen.unshift(id);
    const own = packed || mnemonic ? { t: "thread" } : pointNames;
    return {
      id, layout, parameters, stated, fixed, operand, mnemonic, width, word, inputs, outputs, packed, placed,
      title: `${operand}${chosen.length ? ` (${chosen.join(", ")})` : ""}${mnemonic ? ` of ${mnemonic}` : ""}`,
      names: [...inputs, ...outputs],
      spoken: [...inputs, ...outputs].map((name) => pointNames[name] || name),
      headings: packed
        ? ["thread", "element", "register", "bit_low", ...outputs]
        : [...inputs, ...outputs].map((name) => own[name] || name),
      extent: { ...sizes(layout.inputs, parameters), ...sizes(layout.outputs, parameters) },
      points: points(layout, parameters),
      step: inputs.length + outputs.length,
      letter: !packed ? "e" : operand.length === 1 ? operand.toLowerCase() : "sf",
    };
  }

  const count = (map) => map.points.length / map.step;
  const point = (map, number) => [...map.points.subarray(number * map.step, (number + 1) * map.step)];

  // The register of a point's element, and the element's lowest bit in it.
  function place(map, element) {
    return [Math.floor((element * map.width) / map.word), (element * map.width) % map.word];
  }

  // A point in a sentence, as `ptxmma layout` prints it.
  function sentence(map, numbers) {
    if (map.placed || (!map.packed && map.inputs.includes("i"))) {
      const words = map.spoken.map((name, index) => `${name} ${numbers[index]}`);
      const cut = map.inputs.length;
      const verb = map.outputs.includes("lane") ? "lies at" : "holds";
      return `${words.slice(0, cut).join(", ")} ${verb} ${words.slice(cut).join(", ")}`;
    }
    if (map.packed) {
      const [thread, element, row, col, ...product] = numbers;
      const [register, low] = place(map, element);
      return `thread ${thread} ${map.letter}${element} (register ${register}, bits ${low}..${low + map.width - 1}) ` +
        `holds row ${row}, column ${col}${product.map((number) => ` of product ${number}`).join("")}`;
    }
    if (map.outputs.includes("chunk")) {
      const [thread, bit, row, chunk, slot, index] = numbers;
      return `thread ${thread} bit ${bit}: bit ${index} of index ${slot} of chunk ${chunk} of row ${row}`;
    }
    const rest = map.headings.slice(1).map((name, index) => `${name} ${numbers[index + 1]}`).reverse();
    return `thread ${numbers[0]} supplies the address of ${rest.join(" of ")}`;
  }

  // The names by which a question may ask, and the index of each in a point.
  function questionNames(map) {
    const known = {};
    map.names.forEach((name, index) => { known[name] = index; });
    const other = { t: "thread", i: "element" };
    for (const [name, word] of Object.entries(other)) if (name in known) known[word] = known[name];
    return known;
  }

  // The points that have the numbers asked for, or why there are none.
  function ask(map, asked) {
    const known = questionNames(map);
    const wanted = [];
    for (const [name, value] of Object.entries(asked)) {
      if (name === "register" && map.packed) continue;
      if (!(name in known)) return { found: [], why: `${map.title} has no ${name}; ask by ${map.spoken.join(", ")}` };
      wanted.push([known[name], value, name]);
    }
    const found = [];
    for (let at = 0; at < map.points.length; at += map.step) {
      if (!wanted.every(([index, value]) => map.points[at + index] === value)) continue;
      if ("register" in asked && place(map, map.points[at + 1])[0] !== asked.register) continue;
      found.push(at / map.step);
    }
    if (found.length) return { found, why: "" };
    for (const [index, value, name] of wanted) {
      const size = map.extent[map.names[index]];
      if (value < 0 || value >= size) return { found, why: `there is no ${name} ${value} in ${map.title}; it has ${name} 0..${size - 1}` };
    }
    return { found, why: `${Object.entries(asked).map(([name, value]) => `${name} ${value}`).join(", ")} takes no part in ${map.title}` };
  }

  // `row 9, column 3`, `thread 5 element 3`, `T5 a3` as names and numbers.
  function question(map, text) {
    const asked = {};
    const short = text.match(/^\s*T(\d+)\s*[ ,:]\s*([a-z]+)(\d+)\s*$/i);
    if (short) return { thread: Number(short[1]), element: Number(short[3]) };
    for (const [, word, number] of text.matchAll(/([a-z_]+)\s*[=:]?\s*(\d+)/gi)) {
      const name = word.toLowerCase();
      const alias = { t: "thread", e: "element", i: "element", column: map.names.includes("column") ? "column" : "col", r: "row", c: "col" };
      asked[map.names.includes(name) && name.length > 1 ? name : alias[name] || name] = Number(number);
    }
    return asked;
  }

  return { formula, sizes, points, parametersOf, parameterName, table, count, point, place, sentence, ask, question, questionNames };
})();
