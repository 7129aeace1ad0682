// Sparse matrices: compress and decompress any multiple of A, as `ptxmma compress` and `decompress` do; nothing here draws.
"use strict";

ptxmma.sparse = (() => {
  const { maps, choice } = ptxmma;

  // What a sparse mnemonic says: its coding, its tile, and its maps of A and of the metadata; or why there is none.
  function of(data, mnemonic, selector = 0) {
    const found = choice.find(data, mnemonic);
    if (!found) return { why: `no instruction is spelled ${mnemonic}` };
    const set = choice.setOf(data, found.variant);
    if (!set.sparsity) return { why: `${mnemonic} is not sparse` };
    const own = choice.operands(data, found.variant).find((one) => one.name === "metadata");
    const allowed = data.layouts[own.layout].params.s || [0];
    if (!allowed.includes(selector)) return { why: `the sparsity selector is ${selector}; it must be ${allowed.join(" or ")}` };
    const state = { mnemonic, s: selector };
    const metadata = choice.tableOf(data, { ...state, operand: "metadata" }).map;
    const a = choice.tableOf(data, { ...state, operand: "A" }).map;
    const coding = data.sparsities[set.sparsity];
    return { mnemonic, selector, coding, metadata, a, m: set.m, k: set.k, packedK: (set.k * coding.slots) / coding.chunk, threads: metadata.extent.t, valid: set.valid, allowed };
  }

  const absent = (value) => Object.is(value, 0); // only +0: −0.0 and NaN are values

  function tiles(sparse, matrix, columns, what) {
    const [rows, cols] = [matrix.length, matrix.length ? matrix[0].length : 0];
    if (!rows || !cols || rows % sparse.m || cols % columns) {
      return { why: `${what} is ${rows} x ${cols}; for ${sparse.mnemonic} it must be a multiple of ${sparse.m} x ${columns}` };
    }
    return { down: rows / sparse.m, across: cols / columns };
  }

  // The first code that stores every value of a chunk; -1 where none does.
  function codeOf(coding, taken) {
    const wanted = taken.flatMap((one, column) => (one ? [column] : []));
    const code = coding.codes.find((one) => wanted.every((column) => coding.positions[one].includes(column)));
    return code === undefined ? -1 : code;
  }

  // Packed A, the code of each chunk, and a metadata word a thread of each tile; or why the matrix has none.
  function compress(sparse, matrix) {
    const size = tiles(sparse, matrix, sparse.k, "the matrix");
    if (size.why) return size;
    const { coding } = sparse;
    const packed = [];
    const codes = [];
    for (const [number, row] of matrix.entries()) {
      packed.push([]);
      codes.push([]);
      for (let start = 0; start < row.length; start += coding.chunk) {
        const chunk = row.slice(start, start + coding.chunk);
        const taken = chunk.map((value) => !absent(value));
        const code = codeOf(coding, taken);
        if (code < 0) {
          let runs = 0;
          for (let at = 0; at < coding.chunk; at += coding.run) if (taken.slice(at, at + coding.run).some(Boolean)) runs++;
          const what = coding.run === 1 ? "non-zero elements" : `non-zero runs of ${coding.run} elements`;
          return { why: `row ${number}, chunk ${start / coding.chunk} (columns ${start}..${start + coding.chunk - 1}) has ${runs} ${what}; it may have ${coding.slots / coding.run} (${coding.title})` };
        }
        packed[number].push(...coding.positions[code].map((column) => chunk[column]));
        codes[number].push(code);
      }
    }
    return { packed, codes, words: wordsOf(sparse, codes, size), ...size };
  }

  // Every metadata bit: calls back with thread, bit, row, chunk, and the bit's place in the code.
  function eachBit(sparse, act) {
    const { points, step } = sparse.metadata;
    for (let k = 0; k < points.length; k += step) {
      act(points[k], points[k + 1], points[k + 2], points[k + 3], points[k + 4] * sparse.coding.indexBits + points[k + 5]);
    }
  }

  function wordsOf(sparse, codes, { down, across }) {
    const words = new Array(down * across * sparse.threads).fill(0);
    const chunks = sparse.k / sparse.coding.chunk;
    for (let tile = 0; tile < down * across; tile++) {
      const [top, left] = [Math.floor(tile / across) * sparse.m, (tile % across) * chunks];
      eachBit(sparse, (thread, bit, row, chunk, place) => {
        if ((codes[top + row][left + chunk] >> place) & 1) words[tile * sparse.threads + thread] += 2 ** bit;
      });
    }
    return words;
  }

  // The full matrix of packed A and metadata words; or why there is none.
  function decompress(sparse, packed, words) {
    const size = tiles(sparse, packed, sparse.packedK, "packed A");
    if (size.why) return size;
    const { coding, threads } = sparse;
    if (words.length !== size.down * size.across * threads) {
      return { why: `the metadata must be ${size.down} x ${size.across} x ${threads} integers (row tiles x column tiles x threads), not ${words.length} of int64` };
    }
    if (words.some((word) => word >= 2 ** 32 || word < -(2 ** 31))) return { why: "a metadata word has more than 32 bits" };
    const chunks = sparse.k / coding.chunk;
    const codes = packed.map(() => new Array(chunks * size.across).fill(0));
    for (let tile = 0; tile < size.down * size.across; tile++) {
      const [top, left] = [Math.floor(tile / size.across) * sparse.m, (tile % size.across) * chunks];
      eachBit(sparse, (thread, bit, row, chunk, place) => {
        codes[top + row][left + chunk] |= ((words[tile * threads + thread] >>> bit) & 1) << place;
      });
    }
    const binary = (code) => `0b${code.toString(2).padStart(coding.codeBits, "0")}`;
    for (const [row, own] of codes.entries()) {
      const chunk = own.findIndex((code) => !sparse.valid.includes(code));
      if (chunk >= 0) return { why: `row ${row}, chunk ${chunk}: the code ${binary(own[chunk])} is not valid (with selector ${sparse.selector}); valid are ${sparse.valid.map(binary).join(", ")}` };
    }
    const matrix = packed.map((row, number) => codes[number].flatMap((code, chunk) => {
      const full = new Array(coding.chunk).fill(0);
      coding.positions[code].forEach((column, slot) => { full[column] = row[chunk * coding.slots + slot]; });
      return full;
    }));
    return { matrix, codes, ...size };
  }

  // Who holds the packed element of a row and packed column of one tile, and the bits that say where it stands.
  function holders(sparse, row, column) {
    const { coding } = sparse;
    const chunk = Math.floor(column / coding.slots);
    const index = Math.floor((column % coding.slots) / coding.run);
    const element = maps.ask(sparse.a, { row, col: column }).found.map((number) => maps.sentence(sparse.a, maps.point(sparse.a, number)));
    const bits = maps.ask(sparse.metadata, { row, chunk, slot: index }).found.map((number) => maps.sentence(sparse.metadata, maps.point(sparse.metadata, number)));
    return { element, bits };
  }

  // A matrix of the right sparsity for one tile, the same each time.
  function example(sparse) {
    let seed = 12345;
    const draw = (below) => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor((seed / 2147483648) * below); };
    const { coding } = sparse;
    return Array.from({ length: sparse.m }, () => {
      const row = [];
      for (let start = 0; start < sparse.k; start += coding.chunk) {
        const chunk = new Array(coding.chunk).fill(0);
        for (const column of coding.positions[coding.codes[draw(coding.codes.length)]]) chunk[column] = 1 + draw(7);
        row.push(...chunk);
      }
      return row;
    });
  }

  return { of, compress, decompress, holders, example };
})();
