// Matrices in shared memory, as a descriptor describes them: addresses of elements, elements at addresses, banks.
"use strict";

ptxmma.shared = (() => {
  const { maps } = ptxmma;
  const lineBytes = 128; // one word of each of 32 banks
  const bankBytes = 4;

  // The address rule and the layout of a described matrix; or why there is none.
  function matrix(data, layouts, descriptor, values, major, bytes) {
    for (const [name, field] of Object.entries(descriptor.fields)) {
      for (const [value, why] of Object.entries(field.unplaced || {})) {
        if (values[name] === field.values[value]) return { why: `${name} is ${value}: the text does not say ${why}, so no address is computed` };
      }
    }
    const rules = descriptor.addresses.map((name) => data.addresses[name]);
    const coded = descriptor.parts.mode;
    let mode = Object.keys(rules[0].widths)[0];
    if (coded) {
      const modes = descriptor.fields[coded].values;
      mode = Object.keys(modes).find((name) => modes[name] === values[coded]);
      if (mode === undefined) return { why: `there is no swizzling mode ${values[coded]}; there are: ${Object.keys(modes).join(", ")}` };
    }
    const rule = rules.find((one) => one.major === major && mode in one.widths);
    if (!rule) {
      const known = [...new Set(rules.flatMap((one) => Object.keys(one.widths).map((name) => `${one.major} ${name}`)))].sort();
      return { why: `there is no ${major}-major layout with mode '${mode}'; there are: ${known.join(", ")}` };
    }
    const layout = layouts[rule.layout];
    const allowed = layout.params.bytes;
    if (!allowed.includes(bytes)) return { why: `${major}-major elements have ${allowed.join(" or ")} bytes, not ${bytes}` };
    const parameters = { W: rule.widths[mode], bytes };
    const names = [...Object.keys(layout.inputs), "W", "bytes"];
    const at = Object.fromEntries(Object.entries(layout.map).map(([name, text]) => [name, maps.formula(text, names)]));
    const swizzle = maps.formula(rule.swizzle.address, ["linear", "base", "W"]);
    const { start, base } = descriptor.parts;
    const origin = values[start];
    const [offset, W] = [base ? values[base] : 0, parameters.W];
    const address = (x, k, byte = 0) => {
      let linear = origin + at.offset(x, k, byte, W, bytes);
      for (const [index, stride] of Object.entries(rule.strides)) linear += at[index](x, k, byte, W, bytes) * values[stride];
      return swizzle(linear, offset, W);
    };
    return { rule, mode, address, bytes, sizes: maps.sizes(layout.inputs, parameters), W };
  }

  // `element (3, 5) lies at 0x156 (…)`, as `ptxmma descriptor address` says it; or why not.
  function sentence(one, x, k) {
    const { sizes } = one;
    if (x < 0 || k < 0 || x >= sizes.x || k >= sizes.k) return `(${x}, ${k}) is outside: the row is 0..${sizes.x - 1}, k is 0..${sizes.k - 1}`;
    return `element (${x}, ${k}) lies at 0x${one.address(x, k).toString(16)} (${one.rule.title}, mode ${one.mode})`;
  }

  // A map for the picture: from a line of 128 bytes, a bank and a byte of it to the element there.
  function map(one, rows, depth) {
    const points = [];
    const first = Math.floor(one.address(0, 0) / lineBytes);
    let last = first;
    let least = first;
    for (let x = 0; x < rows; x++) {
      for (let k = 0; k < depth; k++) {
        for (let byte = 0; byte < one.bytes; byte++) {
          const address = one.address(x, k, byte);
          const line = Math.floor(address / lineBytes);
          last = Math.max(last, line);
          least = Math.min(least, line);
          points.push(line, Math.floor((address % lineBytes) / bankBytes), address % bankBytes, x, k);
        }
      }
    }
    for (let i = 0; i < points.length; i += 5) points[i] -= least;
    return {
      id: "shared", title: `${rows} x ${depth} elements`, operand: "", mnemonic: "", layout: { params: {} }, parameters: {}, stated: {},
      names: ["line", "bank", "byte", "x", "k"], spoken: ["line", "bank", "byte", "row", "k"], inputs: ["line", "bank", "byte"], outputs: ["x", "k"],
      placed: true, packed: false, letter: "e", points: Int32Array.from(points), step: 5, least,
      extent: { line: last - least + 1, bank: lineBytes / bankBytes, byte: bankBytes, x: rows, k: depth },
    };
  }

  const unit = 16; // bytes that a thread reads at once

  // Eight reads of 16 bytes at once, one for each of eight rows (or k, where the matrix is MN-major): where they begin.
  function reads(one, x, k) {
    const many = unit / one.bytes;
    return Array.from({ length: 8 }, (_, i) => (one.rule.major === "K"
      ? [x - (x % 8) + i, k - (k % many)]
      : [x - (x % many), k - (k % 8) + i])).filter(([r, c]) => r < one.sizes.x && c < one.sizes.k);
  }

  // How many turns such reads take: the most lines that one bank is asked for.
  function turns(one, places) {
    const banks = new Map();
    for (const [x, k] of places) {
      const address = one.address(x, k);
      for (let byte = 0; byte < unit; byte += bankBytes) {
        const bank = ((address + byte) % lineBytes) / bankBytes | 0;
        if (!banks.has(bank)) banks.set(bank, new Set());
        banks.get(bank).add(Math.floor((address + byte) / lineBytes));
      }
    }
    return Math.max(...[...banks.values()].map((lines) => lines.size));
  }

  return { matrix, sentence, map, reads, turns };
})();
