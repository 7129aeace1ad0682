// The page of sparse matrices: a matrix to packed A and metadata, and back.
"use strict";

(() => {
  const { element, choice, sparse: codes, matrices } = ptxmma;
  const data = ptxmma.data.layouts;
  const by = (id) => document.getElementById(id);
  const longest = 20000; // characters of a matrix in the address
  let state = {};
  let current = {};
  const cells = ptxmma.matrixCells(by("full"), { label: "The matrix", chosen: tellHolder });

  const mnemonics = [];
  let smallest = "";
  let least = Infinity;
  for (const instruction of Object.values(data.instructions)) {
    for (const variant of instruction.variants) {
      const set = choice.setOf(data, variant);
      if (!set.sparsity) continue;
      mnemonics.push(choice.mnemonic(instruction, variant));
      if (set.m * set.k < least) { least = set.m * set.k; smallest = mnemonics[mnemonics.length - 1]; }
    }
  }

  function write(say = ptxmma.state.step) {
    const matrix = (state.matrix || "").length <= longest ? state.matrix : "";
    say({ ...state, matrix });
  }

  function tell(...lines) {
    by("answer").replaceChildren(...lines.map((line) => element("p", {}, line)));
  }

  function choose() {
    if (!mnemonics.includes(state.mnemonic)) state.mnemonic = smallest;
    by("mnemonic").value = state.mnemonic;
    const selectors = codes.of(data, state.mnemonic, 0).allowed;
    if (!selectors.includes(Number(state.s || 0))) state.s = "";
    by("selector").replaceChildren(...selectors.map((value) => element("option", { value, selected: value === Number(state.s || 0) }, value)));
    const sparse = codes.of(data, state.mnemonic, Number(state.s || 0));
    current = { sparse };
    by("wanted").textContent = `A is ${sparse.m} x ${sparse.k}, or a multiple of it: ${sparse.coding.title}. Packed A is ${sparse.m} x ${sparse.packedK}, and ${sparse.threads} threads hold a metadata word each.`;
    by("layout").href = `layouts.html#${new URLSearchParams({ mnemonic: state.mnemonic, operand: "metadata", ...(state.s ? { s: state.s } : {}) })}`;
    by("result").hidden = true;
    by("bits").replaceChildren();
  }

  function compress(say = ptxmma.state.step) {
    const { sparse } = current;
    by("result").hidden = true;
    by("bits").replaceChildren();
    const parsed = matrices.parse(by("matrix").value);
    const made = parsed.why ? parsed : codes.compress(sparse, parsed.matrix);
    if (made.why) { tell(made.why); return; }
    by("packed").value = matrices.write(made.packed);
    by("words").value = made.words.map((word, n) => hex(word) + ((n + 1) % 8 ? " " : "\n")).join("").trim();
    tell(`packed A: ${made.packed.length}x${made.packed[0].length}; metadata: ${sparse.threads} words${made.down * made.across > 1 ? ` for each of ${made.down}x${made.across} tiles` : ""}, one a thread, selector ${sparse.selector}`);
    show(parsed.matrix, made);
    state.matrix = parsed.matrix.map((row) => row.map(matrices.shown).join(",")).join(";");
    write(say);
  }

  const hex = (word) => `0x${(word >>> 0).toString(16).padStart(8, "0")}`;

  function show(matrix, made) {
    const { sparse } = current;
    const { coding } = sparse;
    by("result").hidden = false;
    current.made = made;
    const texts = matrix.map((row) => row.map(matrices.shown));
    cells.show({
      rows: matrix.length, cols: matrix[0].length, longest: texts.flat().reduce((most, one) => Math.max(most, one.length), `${matrix[0].length}`.length),
      text: (r, c) => texts[r][c],
      kind: (r, c) => `${slot(r, c) < 0 ? "" : "kept"}${c % coding.chunk ? "" : " edge"}`,
    });
    by("holder").textContent = "Choose a stored element.";
    const words = made.words || [];
    current.held ||= Array.from({ length: sparse.threads }, (_, thread) => heldBy(sparse, thread));
    by("bits").replaceChildren(element("table", { class: "bits" }, element("thead", {}, element("tr", {}, ["thread", "word", "bits 31..0", "rows and chunks"].map((name) => element("th", { scope: "col" }, name)))), element("tbody", {}, current.held.map((held, thread) => (
      held && element("tr", {}, element("td", {}, thread), element("td", {}, hex(words[thread] || 0)), element("td", {}, (words[thread] >>> 0).toString(2).padStart(32, "0").replace(/(.{4})(?=.)/g, "$1 ")), element("td", {}, held))
    )))));
  }

  // The rows and chunks of the bits that a thread holds; null where it holds none.
  function heldBy(sparse, thread) {
    const held = ptxmma.facts.bitsOf(sparse.metadata, thread);
    if (!held.length) return null;
    return [...new Set(held.map((one) => one.row))].map((row) => `row ${row}: chunks ${ptxmma.facts.runs(held.filter((one) => one.row === row).map((one) => one.chunk))}`).join("; ");
  }

  // The place of a column among the stored ones of its chunk, or -1.
  function slot(r, c) {
    const { coding } = current.sparse;
    return coding.positions[current.made.codes[r][Math.floor(c / coding.chunk)]].indexOf(c % coding.chunk);
  }

  function tellHolder(row, col) {
    const { sparse } = current;
    const at = slot(row, col);
    if (at < 0) { by("holder").replaceChildren(element("p", {}, `Row ${row}, column ${col} is not stored.`)); return; }
    const column = Math.floor(col / sparse.coding.chunk) * sparse.coding.slots + at;
    const [tileRow, tileColumn] = [Math.floor(row / sparse.m), Math.floor(column / sparse.packedK)];
    const { element: holder, bits } = codes.holders(sparse, row % sparse.m, column % sparse.packedK);
    const tile = tileRow || tileColumn ? [`In tile ${tileRow}, ${tileColumn}:`] : [];
    by("holder").replaceChildren(...[...tile, ...holder, ...bits].map((line) => element("p", {}, line)));
  }

  function decompress() {
    const packed = matrices.parse(by("packed").value);
    const words = by("words").value.trim().split(/[\s,;]+/).filter(Boolean).map(Number);
    const wrong = words.findIndex((word) => !Number.isInteger(word));
    const made = packed.why ? { why: `packed A: ${packed.why}` } : wrong >= 0 ? { why: `metadata word ${wrong} is not an integer` } : codes.decompress(current.sparse, packed.matrix, words);
    if (made.why) { tell(made.why); return; }
    by("matrix").value = matrices.write(made.matrix);
    tell(`the matrix: ${made.matrix.length}x${made.matrix[0].length}, selector ${current.sparse.selector}`);
    show(made.matrix, { ...made, words: words.map((word) => word >>> 0) });
    state.matrix = made.matrix.map((row) => row.map(matrices.shown).join(",")).join(";");
    write();
  }

  async function take(file) {
    if (!file) return;
    if (!/\.npy$/i.test(file.name)) { by("matrix").value = await file.text(); compress(); return; }
    const made = matrices.npy(await file.arrayBuffer());
    if (made.why) { tell(`${file.name}: ${made.why}`); return; }
    by("matrix").value = matrices.write(made.matrix);
    compress();
  }

  by("mnemonic").replaceChildren(...mnemonics.map((value) => element("option", { value }, value)));
  by("mnemonic").addEventListener("change", (event) => { state = { mnemonic: event.target.value }; choose(); write(); });
  by("selector").addEventListener("change", (event) => { state.s = event.target.value === "0" ? "" : event.target.value; choose(); write(); if (by("matrix").value.trim()) compress(); });
  by("choice").addEventListener("submit", (event) => event.preventDefault());
  by("compress").addEventListener("click", () => compress());
  by("decompress").addEventListener("click", decompress);
  by("example").addEventListener("click", () => { by("matrix").value = matrices.write(codes.example(current.sparse)); compress(); });
  by("file").addEventListener("change", (event) => take(event.target.files[0]));
  by("matrix").addEventListener("dragover", (event) => event.preventDefault());
  by("matrix").addEventListener("drop", (event) => { if (event.dataTransfer.files.length) { event.preventDefault(); take(event.dataTransfer.files[0]); } });

  function read() {
    state = ptxmma.state.read();
    choose();
    by("matrix").value = (state.matrix || "").replaceAll(";", "\n").replaceAll(",", " ");
    for (const id of ["packed", "words"]) by(id).value = "";
    if (by("matrix").value) compress(ptxmma.state.write);
    else tell("Type or drop a matrix, or take the example.");
  }
  ptxmma.state.heed(read);
  read();
})();
