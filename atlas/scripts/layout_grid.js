// A map as a grid of cells, for drawing: which points lie in which cell, labels, and the number that colours a cell.
"use strict";

ptxmma.grid = (() => {
  const { maps } = ptxmma;
  const blockNames = ["cta", "access"];
  const within = ["byte", "bit"];

  // How the points of a map lie in rows and columns, for one view of it.
  function axes(map, view) {
    const at = (name) => map.names.indexOf(name);
    const size = map.extent;
    if (view === "registers" && map.packed) {
      const registers = Math.ceil((size.i * map.width) / map.word);
      return {
        rows: size.t, cols: registers, down: "thread", across: "register",
        row: (p, k) => p[k], col: (p, k) => maps.place(map, p[k + 1])[0],
        rowName: (r) => `T${r}`, colName: (c) => `r${c}`, blocks: [],
      };
    }
    if (view === "registers" && map.outputs.includes("chunk") && !map.placed) {
      return {
        rows: size.t, cols: size.bit, down: "thread", across: "bit",
        row: (p, k) => p[k], col: (p, k) => p[k + 1], rowName: (r) => `T${r}`, colName: (c) => `${c}`, blocks: [],
      };
    }
    let [first, second] = map.placed
      ? (map.names.includes("lane") ? ["lane", "column"] : map.inputs)
      : map.outputs.includes("chunk") ? ["row", "chunk"] : map.outputs;
    if (second === undefined) second = map.outputs[0];
    const blocks = (map.placed ? blockNames : ["product"]).filter((name) => map.names.includes(name) && name !== first && name !== second);
    const [r, c] = [at(first), at(second)];
    let rows = size[first];
    let block = () => 0;
    if (blocks.length) {
      const places = blocks.map((name) => [at(name), size[name]]);
      rows *= places.reduce((product, [, count]) => product * count, 1);
      block = (p, k) => places.reduce((number, [index, count]) => number * count + p[k + index], 0);
    }
    const height = size[first];
    const blockName = (number) => {
      const words = [];
      for (const name of [...blocks].reverse()) {
        words.unshift(`${name} ${number % size[name]}, `);
        number = Math.floor(number / size[name]);
      }
      return words.join("");
    };
    return {
      rows, cols: size[second], down: first, across: second,
      row: (p, k) => block(p, k) * height + p[k + r], col: (p, k) => p[k + c],
      rowName: (number) => `${blockName(Math.floor(number / height))}${number % height}`, colName: (number) => `${number}`, blocks,
      ...(blocks.length ? {} : { plain: [r, c] }),
    };
  }

  // Cells with the numbers of their points: those of cell n are points[start[n]] to points[start[n + 1] - 1].
  function grid(map, view) {
    const shape = axes(map, view);
    const total = maps.count(map);
    const cell = new Int32Array(total);
    const start = new Int32Array(shape.rows * shape.cols + 1);
    const { plain: [r, c] = [-1, -1], cols } = shape;
    const { points: from, step } = map;
    for (let n = 0, k = 0; n < total; n++, k += step) {
      const at = r < 0 ? shape.row(from, k) * cols + shape.col(from, k) : from[k + r] * cols + from[k + c];
      cell[n] = at;
      start[at + 1]++;
    }
    for (let n = 1; n < start.length; n++) start[n] += start[n - 1];
    const points = new Int32Array(total);
    const next = start.slice();
    for (let n = 0; n < total; n++) points[next[cell[n]]++] = n;
    return { ...shape, map, view, cell, start, points, title: map.title };
  }

  function cellPoints(grid, cell) {
    return [...grid.points.subarray(grid.start[cell], grid.start[cell + 1])];
  }

  // `3`, `0..3` of consecutive values, `0+8` of others.
  function several(values) {
    const distinct = [...new Set(values)].sort((a, b) => a - b);
    if (distinct.length === 1) return `${distinct[0]}`;
    const whole = distinct[distinct.length - 1] - distinct[0] === distinct.length - 1;
    return whole ? `${distinct[0]}..${distinct[distinct.length - 1]}` : distinct.join("+");
  }

  // `3,0..1` for neighbours of a row, `0..1,3` of a column, else every position.
  function positions(places) {
    if (places.length === 1) return places[0].join(",");
    for (const axis of [0, 1]) {
      const fixed = new Set(places.map((place) => place.filter((_, index) => index !== axis).join()));
      const along = places.map((place) => place[axis]);
      if (fixed.size === 1 && along.every((value, index) => value === along[0] + index)) {
        const words = places[0].map(String);
        words[axis] = `${along[0]}..${along[along.length - 1]}`;
        return words.join(",");
      }
    }
    return places.map((place) => place.join(",")).join(" ");
  }

  // What stands in a cell.
  function label(grid, cell) {
    const { map } = grid;
    const held = cellPoints(grid, cell).map((number) => maps.point(map, number));
    if (!held.length) return "·";
    const cut = map.inputs.length;
    if (grid.view === "registers") return map.packed ? positions(held.map((point) => point.slice(2))) : held[0].slice(2).join(",");
    if (map.packed) return `T${held[0][0]}:${map.letter}${held[0][1]}`;
    if (!map.placed && map.outputs.includes("chunk")) {
      const bits = held.map((point) => point[1]);
      return `T${held[0][0]}:[${Math.max(...bits)}..${Math.min(...bits)}]`;
    }
    if (!map.placed) return `T${held[0][0]}${cut > 1 ? `:e${held[0][1]}` : ""}`;
    if (map.inputs.includes("t")) return `T${held[0][0]}:r${held[0][1]}`;
    const laneFirst = map.inputs.includes(grid.down);
    const told = (laneFirst ? map.outputs : map.inputs).filter((name) => ![grid.down, grid.across, ...blockNames, "copy", ...within].includes(name));
    return told.map((name) => several(held.map((point) => point[map.names.indexOf(name)]))).join(",") || "×";
  }

  // By what cells may be coloured, with the number that decides for a point.
  function keys(map) {
    const at = (name) => map.names.indexOf(name);
    const found = {};
    if (map.inputs.includes("t")) {
      const t = at("t");
      found.thread = (k) => map.points[k + t];
      found.warp = (k) => Math.floor(map.points[k + t] / 32);
      found.group = (k) => Math.floor((map.points[k + t] % 32) / 4);
    }
    if (map.packed) found.register = (k) => maps.place(map, map.points[k + 1])[0];
    for (const name of map.names) {
      if (name === "t") continue;
      const word = name === "i" ? "element" : name;
      found[word] = (k) => map.points[k + at(name)];
    }
    return found;
  }

  // The colour of a number: of a thread as in the pictures of the command line, else four hues in turns.
  function colour(data, map, key, number) {
    if (key !== "thread") return data.colours[32][number % 32];
    return map.extent.t > 32 ? data.colours[128][number % 128] : data.colours[32][number % 32];
  }

  return { grid, label, keys, colour, cellPoints };
})();
