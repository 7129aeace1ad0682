// What a picked place of a map comes to beside its sentence: metadata of a sparse A, loads of tensor memory, bridges.
"use strict";

ptxmma.facts = (() => {
  const { maps, choice } = ptxmma;

  // Of a row and a packed column of a sparse A: the bits that say where its element stands.
  function metadata(data, state, found, row, column) {
    const set = choice.setOf(data, found.variant);
    const coding = data.sparsities[set.sparsity];
    const answer = coding && choice.tableOf(data, { ...state, operand: "metadata", layout: "" });
    if (!answer || !answer.map) return null;
    const index = Math.floor((column % coding.slots) / coding.run);
    const chunk = Math.floor(column / coding.slots);
    const { found: bits } = maps.ask(answer.map, { row, chunk, slot: index });
    return {
      map: answer.map, chunk, index, full: [chunk * coding.chunk, (chunk + 1) * coding.chunk - 1],
      points: bits.map((number) => maps.point(answer.map, number)),
    };
  }

  // The rows and chunks whose metadata bits one thread holds.
  function bitsOf(map, thread) {
    const { found } = maps.ask(map, { thread });
    const held = new Map();
    for (const number of found) {
      const [, bit, row, chunk] = maps.point(map, number);
      const key = `${row},${chunk}`;
      const known = held.get(key);
      held.set(key, known ? { ...known, low: Math.min(known.low, bit), high: Math.max(known.high, bit) } : { row, chunk, low: bit, high: bit });
    }
    return [...held.values()];
  }

  // Runs of numbers: 0..3, 8.
  function runs(numbers) {
    const sorted = [...new Set(numbers)].sort((a, b) => a - b);
    const parts = [];
    for (const number of sorted) {
      const last = parts[parts.length - 1];
      if (last && last[1] === number - 1) last[1] = number;
      else parts.push([number, number]);
    }
    return parts.map(([low, high]) => (low === high ? `${low}` : `${low}..${high}`)).join(", ");
  }

  // The picked place of a sparse A, in sentences.
  function metadataLines(data, state, found, numbers) {
    const [thread, , row, column] = numbers;
    const own = metadata(data, state, found, row, column);
    if (!own) return [];
    const lines = [`It is stored element ${column % data.sparsities[choice.setOf(data, found.variant).sparsity].slots} of chunk ${own.chunk} of row ${row}: one of the columns ${own.full[0]}..${own.full[1]} of the full A. These bits say which:`];
    lines.push(...own.points.map((point) => maps.sentence(own.map, point)));
    const coding = data.sparsities[choice.setOf(data, found.variant).sparsity];
    const chunk = Math.floor(column / coding.chunk);
    if (chunk !== own.chunk) {
      lines.push(`Column ${column} of the full A would be in chunk ${chunk}: if it is stored, then in the packed columns ${chunk * coding.slots}..${(chunk + 1) * coding.slots - 1}.`);
    }
    const held = bitsOf(own.map, thread);
    lines.push(held.length
      ? `Thread ${thread} itself holds the metadata of ${[...new Set(held.map((one) => one.row))].map((r) => `row ${r}, chunks ${runs(held.filter((one) => one.row === r).map((one) => one.chunk))}`).join("; ")}.`
      : `Thread ${thread} itself gives no metadata: ${own.map.title}.`);
    return lines;
  }

  // Which loads bring a place of tensor memory to a register, as `ptxmma layout` says it.
  function loadLines(data, map, numbers) {
    const at = ["lane", "column"].map((name) => map.inputs.indexOf(name));
    if (at.includes(-1) || !["row", "col"].every((name) => map.outputs.includes(name))) return [];
    const [lane, column] = at.map((index) => numbers[index]);
    const known = new Set();
    const lines = [];
    for (const [mnemonic, id, parameters, halves] of data.loads) {
      if (known.has(id)) continue;
      const layout = data.layouts[id];
      const shape = maps.sizes(layout.outputs, parameters);
      if (column >= shape.column) continue;
      known.add(id);
      const first = lane - (lane % Math.min(shape.lane, 32));
      const wanted = Object.keys(layout.outputs).map((name) => ({ lane: lane - first, column }[name] ?? 0));
      const points = maps.points(layout, parameters);
      const step = wanted.length + 2;
      for (let i = 0; i < points.length; i += step) {
        if (!wanted.every((value, j) => points[i + 2 + j] === value)) continue;
        lines.push(`${mnemonic} or longer, at lane ${first}: thread ${points[i]}, element ${points[i + 1]}${halves ? ", its lower 16 bits" : ""}`);
        break;
      }
    }
    return lines.length ? [`warp ${Math.floor(lane / 32)} of the warpgroup can load it, from column 0 on:`, ...lines] : [];
  }

  // Bridges that speak of a layout.
  function bridges(data, id) {
    return Object.entries(data.bridges).filter(([, bridge]) => bridge.left === id || bridge.right === id);
  }

  // What is to be known of a bridge beside its title.
  function bridgeWords(bridge) {
    const words = [];
    if (bridge.through) words.push(`It is read through ${bridge.through.layout}.`);
    if (!bridge.holds) words.push("It does not hold: the solvers found places where the two differ. The places set side by side here are those that were compared.");
    if (bridge.permutes) words.push(`Up to a permutation of ${bridge.permutes}, with some order of each thread's elements, the two are equal.`);
    return words;
  }

  // What lies between the two ends of a bridge, at a point of the right one: a sentence, or nothing.
  function between(data, bridge, right, parameters, point) {
    const { through } = bridge;
    if (!through) return "";
    const layout = data.layouts[through.layout];
    const names = [...right.names, ...Object.keys(parameters)];
    const inputs = Object.keys(layout.inputs).map((name) => maps.formula(through.at[name], names)(...point, ...Object.values(parameters)));
    const map = maps.table({ id: through.layout, layout, operand: through.layout, parameters: maps.parametersOf(layout, {}, { ...right.parameters, ...parameters }) });
    const held = find(map, inputs);
    return held ? ` In between, in ${through.layout}: ${maps.sentence(map, held)}.` : ` In between, in ${through.layout}, nothing lies there.`;
  }

  // The point of the other layout that a bridge sets beside a point of this one; null where it sets none.
  // `forward`: this one is the right layout.
  function across(bridge, forward, mine, other, parameters, numbers) {
    const right = forward ? mine : other;
    const left = forward ? other : mine;
    const names = [...right.names, ...Object.keys(parameters)];
    const values = Object.values(parameters);
    const at = left.inputs.map((name) => maps.formula(bridge.at[name], names));
    const where = bridge.where ? maps.formula(bridge.where, [...names]) : () => true;
    const image = (point) => at.map((one) => one(...point, ...values));
    if (forward) {
      if (!where(...numbers, ...values)) return null;
      const inputs = image(numbers);
      return find(left, inputs);
    }
    for (let k = 0; k < right.points.length; k += right.step) {
      const point = right.points.subarray(k, k + right.step);
      if (!where(...point, ...values)) continue;
      if (image(point).every((value, i) => value === numbers[i])) return [...point];
    }
    return null;
  }

  function find(map, inputs) {
    for (let k = 0; k < map.points.length; k += map.step) {
      if (inputs.every((value, i) => map.points[k + i] === value)) return [...map.points.subarray(k, k + map.step)];
    }
    return null;
  }

  return { metadata, metadataLines, bitsOf, runs, loadLines, bridges, bridgeWords, between, across };
})();
