// What assemblers said about one form, from their recorded answers, beside what the specification says. No DOM.
"use strict";

ptxmma.asked = (() => {
  const { version } = ptxmma.rows;

  // The number of a form among all forms of its row: its bit in every bitmap.
  function bitOf(variant, form) {
    let number = 0;
    for (const one of variant.row.variants()) {
      for (const other of one.forms) {
        if (one === variant && other === form) return number;
        number += 1;
      }
    }
    return -1;
  }

  // When and where a form is legal.
  function gateOf(variant, form) {
    const { isa } = variant.row.family;
    if (form.gate === null) return variant.gate;
    return isa.effective([...variant.row.gatesOn(variant.fields), form.gate]);
  }

  function isLegal(gate, ptx, target) {
    const since = gate.targets.get(target);
    return since !== undefined && since <= version(ptx) && (gate.removed === null || version(ptx) < gate.removed);
  }

  // By release: every setting with what the release did there; [] where it was not asked.
  function answers(releases, asked, variant, form) {
    const seen = asked[variant.row.record.id];
    const bit = BigInt(bitOf(variant, form));
    const gate = gateOf(variant, form);
    return releases.map((release, place) => {
      const found = seen[place];
      if (!found) return { release: release.release, settings: [] };
      const accepted = found.bitmaps.map((bitmap) => ((BigInt(`0x${bitmap}`) >> bit) & 1n) === 1n);
      const every = found.runs.flatMap(([which, count]) => Array(count).fill(accepted[which]));
      const pairs = release.settings.flatMap(([target, versions]) => versions.map((ptx) => [ptx, target]));
      const settings = pairs.map(([ptx, target], i) => ({ ptx, target, accepted: every[i], legal: isLegal(gate, ptx, target) }));
      return { release: release.release, settings };
    });
  }

  // By target and version: what the specification says, and which releases accepted and refused.
  function table(found) {
    const cells = new Map();
    for (const { release, settings } of found) {
      for (const { ptx, target, accepted, legal } of settings) {
        if (!cells.has(target)) cells.set(target, new Map());
        const row = cells.get(target);
        if (!row.has(ptx)) row.set(ptx, { legal, accepted: [], refused: [] });
        row.get(ptx)[accepted ? "accepted" : "refused"].push(release);
      }
    }
    return cells;
  }

  return { answers, table, gateOf, bitOf };
})();
