// A dot product explained, in the words of `ptxmma explain`: terms, window, sum, result, exact value. No page is needed.
"use strict";

ptxmma.explained = (() => {
  const { made, plus, negative, times, isNumber, same, text } = ptxmma.numbers;
  const { Question, codeOf, codesOf, valueOf } = ptxmma.elementCodes;
  const zero = made(0n);

  // The set of types that a mnemonic has, which of A and B it can negate, and its targets; null where there is none.
  function found(data, mnemonic) {
    for (const set of data.sets) {
      for (const [negatable, mnemonics] of Object.entries(set.mnemonics)) {
        const place = mnemonics.indexOf(mnemonic);
        if (place >= 0) return { set, negatable, targets: data.targets[set.legal[negatable][place]] };
      }
    }
    return null;
  }

  // Why nothing is known of a mnemonic on a target; null where its sums are.
  function unknown(data, mnemonic, known, target) {
    if (!known && data.measured.includes(target)) return `${mnemonic || "nothing"} is not a whole mnemonic that adds products on ${target}`;
    if (!known) return `no sums are known on ${target}: not measured`;
    if (!known.targets.includes(target)) return `${mnemonic} is not legal on ${target}`;
    return data.measured.includes(target) ? null : `no model of ${mnemonic} on ${target}: not measured`;
  }

  // The product of two values.
  function product(x, y) {
    if (isNumber(x) && isNumber(y)) return times(x, y);
    if (x === "nan" || y === "nan" || x.m === 0n || y.m === 0n) return "nan";
    const below = (value) => (isNumber(value) ? value.m < 0n : value === "-inf");
    return below(x) !== below(y) ? "-inf" : "inf";
  }

  function signed(value, negated) {
    if (!negated || value === "nan") return value;
    return isNumber(value) ? negative(value) : value === "-inf" ? "inf" : "-inf";
  }

  // What is left of a term, in units of 2^unit.
  const left = (term, unit) => made(term.negative ? -term.kept : term.kept, unit);

  function explainedBlock(data, set, steps, a, b) {
    const { block, result } = steps;
    const measured = "quantum" in result;
    const unit = measured ? Number(result.quantum - result.offset) : 0;
    const terms = block.products.map((i, place) => {
      const scope = steps.terms[place];
      const [x, y] = [["A", a[i]], ["B", b[i]]].map(([part, { code, negated }]) => signed(valueOf(data.types, set.types[part], code), negated));
      const exact = data.types[block.result].format ? product(x, y) : left(scope, 0);
      return { name: `k ${i}`, isProduct: true, counts: true, codes: [[set.types.A, a[i].code], [set.types.B, b[i].code]], exact, scope };
    });
    block.addends.forEach((number, place) => {
      const name = number === ptxmma.sums.fromC ? "C" : number < 0 ? "zero" : `sum ${number + 1}`;
      const [type, code] = [block.types[place], steps.addends[place]];
      const scope = steps.terms[block.products.length + place];
      terms.push({ name, isProduct: false, counts: number < 0, codes: [[type, code]], exact: valueOf(data.types, type, code), scope });
    });
    for (const term of terms) term.kept = isNumber(term.exact) ? left(term.scope, unit) : null;
    const numbers = terms.every((term) => isNumber(term.exact));
    return {
      what: data.models[block.model].what,
      terms,
      top: measured && numbers ? result.top - result.offset : null,
      quantum: measured && numbers ? unit : null,
      total: numbers ? terms.map((term) => term.kept).reduce(plus, zero) : null,
      type: block.result,
      code: steps.code,
      value: valueOf(data.types, block.result, steps.code),
    };
  }

  const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;
  const pattern = (data, type, code) => `0x${code.toString(16).padStart(Math.ceil(data.types[type].bits / 4), "0")}`;
  const isZero = (term) => term.isProduct && isNumber(term.exact) && term.exact.m === 0n;

  function row(data, { name, isProduct, codes, exact, kept }) {
    const patterns = codes.map(([type, code]) => pattern(data, type, code)).join(" x ");
    const cut = kept !== null && !same(kept, exact) ? `kept ${text(kept)}` : "";
    return { first: name, isProduct, cells: [name, patterns, `= ${text(exact)}`, cut] };
  }

  // The terms but for products that are 0; neighbours that differ in their name alone are one.
  function rows(data, block) {
    const found = [];
    for (const term of block.terms.filter((one) => !isZero(one))) {
      const one = row(data, term);
      const last = found[found.length - 1];
      const alike = last && one.isProduct && last.isProduct && one.cells.slice(1).every((cell, at) => cell === last.cells[at + 1]);
      if (alike) last.cells[0] = `${last.first}..${one.first.replace("k ", "")}`;
      else found.push(one);
    }
    return found.map((one) => one.cells);
  }

  function blockLines(data, number, several, block) {
    const lines = [`${several ? `sum ${number}: ` : ""}${block.what}`];
    const cells = rows(data, block);
    const widths = [0, 1, 2].map((at) => Math.max(0, ...cells.map((one) => one[at].length)));
    for (const one of cells) lines.push(`  ${[...widths.map((width, at) => one[at].padEnd(width)), one[3]].join("  ")}`.trimEnd());
    const zeros = block.terms.filter(isZero).length;
    if (zeros) lines.push(`  ${counted(zeros, "product")} ${zeros === 1 ? "is" : "are"} 0`);
    if (block.quantum !== null) lines.push(`  window: the greatest exponent is ${block.top}; its last place is 2^${block.quantum}`);
    if (block.total !== null) lines.push(`  sum: ${text(block.total)}`);
    lines.push(`  result: ${pattern(data, block.type, block.code)} = ${text(block.value)}`);
    return lines;
  }

  function* end(data, { type, code, value }, exact) {
    yield `D = ${pattern(data, type, code)} = ${text(value)}`;
    if (exact === null) return;
    if (same(exact, value)) yield "exact: the same";
    else if (isNumber(value)) yield `exact: ${text(exact)}; D - exact = ${text(plus(value, negative(exact)))}`;
    else yield `exact: ${text(exact)}`;
  }

  // { text, d, value, exact } or { why }; `written` has a, b, c and their names for messages, `scales` are 1 or -1.
  function explain(data, mnemonic, written, names = { a: "A", b: "B", c: "C" }, scales = [1, 1], target = data.target) {
    const known = found(data, mnemonic);
    const why = unknown(data, mnemonic, known, target);
    if (why) return { why };
    const { set, negatable } = known;
    try {
      scales.forEach((scale, place) => {
        const part = "AB"[place];
        if (scale === -1 && !negatable.includes(part)) throw new Question(`${mnemonic} cannot negate ${part}; its scale must be 1`);
      });
      const [a, b] = ["a", "b"].map((key, place) => codesOf(data.types, set.types["AB"[place]], written[key], set.products, names[key])
        .map((code) => ({ code, negated: scales[place] === -1 })));
      return explainedCodes(data, mnemonic, target, set, a, b, codeOf(data.types, set.types.C, written.c, names.c));
    } catch (error) {
      if (error instanceof Question) return { why: error.message };
      throw error;
    }
  }

  function explainedCodes(data, mnemonic, target, set, a, b, c) {
    const blocks = ptxmma.sums.steps(data, set, a, b, c).map((steps) => explainedBlock(data, set, steps, a, b));
    const last = blocks[blocks.length - 1];
    const terms = blocks.flatMap((block) => block.terms).filter((term) => term.counts);
    const exact = terms.every((term) => isNumber(term.exact)) ? terms.map((term) => term.exact).reduce(plus, zero) : null;
    const lines = [`${mnemonic} on ${target}: ${counted(set.products, "product")}`, `row ${set.row}: ${set.note}`];
    blocks.forEach((block, place) => lines.push("", ...blockLines(data, place + 1, blocks.length > 1, block)));
    const ending = [...end(data, last, exact)];
    return { text: [...lines, "", ...ending].join("\n"), d: ending[0], value: last.value };
  }

  return { explain, found };
})();
