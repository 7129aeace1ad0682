// Matrices as text and as NumPy files: rows of numbers, split by commas, semicolons or spaces.
"use strict";

ptxmma.matrices = (() => {
  // Rows of numbers; or why the text is none.
  function parse(text) {
    const matrix = [];
    for (const [number, line] of text.split(/\r?\n/).entries()) {
      const words = line.trim().split(/[\s,;]+/).filter(Boolean);
      if (!words.length) continue;
      const row = words.map((word) => (/^[-+]?0x[0-9a-f]+$/i.test(word) ? parseInt(word) : word.toLowerCase() === "nan" ? NaN : Number(word)));
      const wrong = words.find((word, index) => Number.isNaN(row[index]) && word.toLowerCase() !== "nan");
      if (wrong !== undefined) return { why: `line ${number + 1}: ${wrong} is not a number` };
      if (matrix.length && row.length !== matrix[0].length) return { why: `line ${number + 1} has ${row.length} numbers; the first has ${matrix[0].length}` };
      matrix.push(row);
    }
    return matrix.length ? { matrix } : { why: "there are no numbers" };
  }

  const shown = (value) => (Object.is(value, -0) ? "-0" : `${value}`);

  function write(matrix) {
    return matrix.map((row) => row.map(shown).join(" ")).join("\n");
  }

  function half(bits) {
    const [sign, power, rest] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
    if (power === 31) return rest ? NaN : sign * Infinity;
    return sign * (power ? 2 ** (power - 15) * (1 + rest / 1024) : 2 ** -14 * (rest / 1024));
  }

  const readers = {
    f2: (view, at, little) => half(view.getUint16(at, little)), f4: (view, at, little) => view.getFloat32(at, little),
    f8: (view, at, little) => view.getFloat64(at, little), i1: (view, at) => view.getInt8(at), u1: (view, at) => view.getUint8(at),
    i2: (view, at, little) => view.getInt16(at, little), u2: (view, at, little) => view.getUint16(at, little),
    i4: (view, at, little) => view.getInt32(at, little), u4: (view, at, little) => view.getUint32(at, little),
    i8: (view, at, little) => Number(view.getBigInt64(at, little)), u8: (view, at, little) => Number(view.getBigUint64(at, little)),
  };

  // The matrix of a .npy file; or why it is none.
  function npy(buffer) {
    const view = new DataView(buffer);
    if (buffer.byteLength < 10 || view.getUint32(0) !== 0x934e554d) return { why: "this is not a .npy file" };
    const wide = view.getUint8(6) > 1;
    const begin = wide ? 12 : 10;
    const length = wide ? view.getUint32(8, true) : view.getUint16(8, true);
    const header = new TextDecoder("latin1").decode(new Uint8Array(buffer, begin, Math.min(length, buffer.byteLength - begin)));
    const [, order, type] = header.match(/'descr':\s*'([<>|=])([a-zA-Z]\d+)'/) || [];
    const shape = (header.match(/'shape':\s*\(([^)]*)\)/) || ["", ""])[1].split(",").map((word) => word.trim()).filter(Boolean).map(Number);
    const read = readers[type];
    if (!read) return { why: `elements of ${type || "this type"} cannot be shown; convert them to float32` };
    if (!shape.length) return { why: "the file holds one number, not a matrix" };
    const cols = shape[shape.length - 1];
    const rows = shape.slice(0, -1).reduce((product, one) => product * one, 1);
    const size = Number(type.slice(1));
    const from = begin + length;
    if (buffer.byteLength < from + rows * cols * size) return { why: "the file ends too early" };
    const transposed = /'fortran_order':\s*True/.test(header);
    const at = (r, c) => from + size * (transposed ? c * rows + r : r * cols + c);
    return { matrix: Array.from({ length: rows }, (_, r) => Array.from({ length: cols }, (_, c) => read(view, at(r, c), order !== ">"))) };
  }

  return { parse, write, npy, shown };
})();
