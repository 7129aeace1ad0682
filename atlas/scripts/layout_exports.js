// A map for other programs: CSV, CuTe, CUDA C++ and SVG, as `ptxmma layout --format` gives them.
"use strict";

ptxmma.exports = (() => {
  const { maps } = ptxmma;

  // One line a point, with a heading.
  function csv(map) {
    const lines = [map.headings.join(",")];
    for (let n = 0; n < maps.count(map); n++) {
      const [t, i, ...rest] = maps.point(map, n);
      lines.push((map.packed ? [t, i, ...maps.place(map, i), ...rest] : [t, i, ...rest]).join(","));
    }
    return lines.join("\n");
  }

  // (shape, stride) modes of one input: its bits, with runs of doubling strides merged.
  function modes(size, linear) {
    const made = [];
    for (let reach = 1; reach < size;) {
      const extent = size % (reach * 2) === 0 ? 2 : Math.floor(size / reach);
      const stride = linear(reach);
      const last = made[made.length - 1];
      if (last && last[0] * last[1] === stride) last[0] *= extent;
      else made.push([extent, stride]);
      reach *= extent;
    }
    return made.length ? made : [[1, 0]];
  }

  function apply(all, index) {
    let total = 0;
    for (const [shape, stride] of all) {
      total += (index % shape) * stride;
      index = Math.floor(index / shape);
    }
    return total;
  }

  function written(all, which) {
    const parts = all.map((mode) => mode[which]);
    return parts.length === 1 ? `${parts[0]}` : `(${parts.join(",")})`;
  }

  // Shape:Stride with what it maps to, checked at every point; or why there is none.
  function cute(map) {
    if (!map.packed || map.layout.where) return { why: `${map.operand} has no CuTe layout: it is not a map of (thread, element)` };
    const { row: rows, col: cols, product: products = 1, t: threads, i: elements } = map.extent;
    const transposed = map.operand === "B";
    const index = (row, col, product = 0) => (transposed ? col + row * cols : row + col * rows) + product * rows * cols;
    const linear = (t, i) => index(...maps.point(map, t * elements + i).slice(2));
    const origin = linear(0, 0);
    const byThread = modes(threads, (t) => linear(t, 0) - origin);
    const byValue = modes(elements, (i) => linear(0, i) - origin);
    for (let t = 0; t < threads; t++) {
      for (let i = 0; i < elements; i++) {
        if (origin || apply(byThread, t) + apply(byValue, i) !== linear(t, i)) {
          return { why: `${map.title} is not a CuTe layout: it is not linear in thread and element` };
        }
      }
    }
    if (byThread.reduce((product, [shape]) => product * shape, 1) !== threads) return { why: `${map.title} is not a CuTe layout` };
    const product = products > 1 ? ` + ${rows * cols}*product` : "";
    const target = transposed ? `col + ${cols}*row${product}, CuTe's (N,K)` : `row + ${rows}*col${product}`;
    const shape = `(${written(byThread, 0)},${written(byValue, 0)})`;
    const stride = `(${written(byThread, 1)},${written(byValue, 1)})`;
    return { text: `${shape}:${stride}\n# (thread, value) -> ${target}; equal to the specification at all ${maps.count(map)} points` };
  }

  const argument = { t: "thread", i: "element" };

  // Forward, inverse and register functions as CUDA C++ (or C: define __host__ and __device__).
  function cuda(map) {
    const stem = [map.mnemonic, map.operand.toLowerCase(), ...Object.entries(map.parameters).filter(([name]) => !(name in map.stated)).map(([name, value]) => `${name}${value}`)]
      .filter(Boolean).join("_").replace(/[^A-Za-z0-9_]+/g, "_");
    const { c } = map.layout;
    const fixed = (text) => text.replace(/\b[A-Za-z_]\w*\b/g, (name) => (name in map.parameters ? map.parameters[name] : name));
    const lines = [`// ${map.title}: ${map.layout.title}`, `// section ${map.layout.section}`];
    const define = (name, inputs, text) => {
      const body = fixed(text);
      const idle = inputs.filter((one) => !new RegExp(`\\b${one}\\b`).test(body)).map((one) => `(void)${one}; `).join("");
      lines.push(`static __host__ __device__ inline unsigned ${stem}_${name}(${inputs.map((one) => `unsigned ${one}`).join(", ")}) { ${idle}return ${body}; }`);
    };
    for (const name of map.outputs) define(name, map.inputs, c.map[name]);
    const backward = c.inverse.find((one) => Object.entries(one.case).every(([name, value]) => map.parameters[name] === value)).inputs;
    for (const name of map.inputs) define(argument[name] || name, map.outputs, backward[name]);
    if (c.where) define("holds", map.inputs, c.where);
    if (map.packed) {
      define("register", ["i"], `i * ${map.width} / ${map.word}`);
      define("bit_low", ["i"], `i * ${map.width} % ${map.word}`);
    }
    return lines.join("\n");
  }

  const escaped = (text) => text.replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }[letter]));

  // The grid as a drawing, every cell labelled.
  function svg(data, grid, key) {
    const { map } = grid;
    const by = ptxmma.grid.keys(map)[key] || (() => 0);
    const labels = Array.from({ length: grid.rows * grid.cols }, (_, cell) => ptxmma.grid.label(grid, cell));
    const wide = Math.max(30, 7.2 * labels.reduce((most, one) => Math.max(most, one.length), 1) + 10);
    const high = 20;
    const left = 20 + 7.2 * Math.max(...Array.from({ length: grid.rows }, (_, r) => grid.rowName(r).length));
    const top = 52;
    const [width, height] = [left + wide * grid.cols + 10, top + high * grid.rows + 10];
    const parts = [
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="monospace" font-size="12">`,
      `<rect width="${width}" height="${height}" fill="#fff"/><text x="10" y="22" font-size="15">${escaped(grid.title)}</text>`,
    ];
    for (let c = 0; c < grid.cols; c++) parts.push(`<text x="${left + wide * (c + 0.5)}" y="${top - 6}" text-anchor="middle" fill="#555">${grid.colName(c)}</text>`);
    for (let r = 0; r < grid.rows; r++) {
      parts.push(`<text x="${left - 8}" y="${top + high * r + 14}" text-anchor="end" fill="#555">${grid.rowName(r)}</text>`);
      for (let c = 0; c < grid.cols; c++) {
        const cell = r * grid.cols + c;
        const own = grid.start[cell] < grid.start[cell + 1];
        const fill = own ? ptxmma.grid.colour(data, map, key, by(grid.points[grid.start[cell]] * map.step)) : "#fff";
        parts.push(`<rect x="${left + wide * c}" y="${top + high * r}" width="${wide}" height="${high}" fill="${fill}" stroke="#999"/>`);
        parts.push(`<text x="${left + wide * (c + 0.5)}" y="${top + high * r + 14}" text-anchor="middle">${labels[cell]}</text>`);
      }
    }
    return `${parts.join("\n")}\n</svg>\n`;
  }

  return { csv, cute, cuda, svg };
})();
