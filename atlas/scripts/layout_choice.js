// From mnemonics to operands and their layouts, by the lists of data/layouts.js; nothing here draws.
"use strict";

ptxmma.choice = (() => {
  // The mnemonic of a variant: the pieces of its instruction's syntax with the words of its fields.
  function mnemonic(instruction, variant) {
    const fields = Object.keys(instruction.fields);
    return instruction.pieces.map(([literal, dot, field]) => {
      const word = field ? instruction.fields[field][variant[fields.indexOf(field)]] : null;
      return word == null ? literal : `${literal}${dot}${word}`;
    }).join("");
  }

  const index = new Map();

  // The instruction and the variant of a mnemonic, or null.
  function find(data, text) {
    if (!index.size) {
      for (const [name, instruction] of Object.entries(data.instructions)) {
        for (const variant of instruction.variants) index.set(mnemonic(instruction, variant), { name, instruction, variant });
      }
    }
    return index.get(text.trim().replace(/;$/, "").trim()) || null;
  }

  // Mnemonics with all words of a text in them.
  function containing(data, text, most) {
    find(data, "");
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = [];
    for (const one of index.keys()) {
      if (words.every((word) => one.toLowerCase().includes(word))) found.push(one);
      if (found.length === most) break;
    }
    return found;
  }

  function setOf(data, variant) {
    return data.sets[variant[variant.length - 1]];
  }

  function operands(data, variant) {
    return setOf(data, variant).operands.map((number) => data.operands[number]);
  }

  // The words that a field may have beside those chosen for the fields before it.
  function words(instruction, chosen, field) {
    const fields = Object.keys(instruction.fields);
    const at = fields.indexOf(field);
    const fitting = instruction.variants.filter((variant) => fields.slice(0, at).every((_, i) => variant[i] === chosen[i]));
    return [...new Set(fitting.map((variant) => variant[at]))].sort((a, b) => a - b);
  }

  // The variant that agrees with chosen words as far as one does, from the first field on.
  function nearest(instruction, chosen) {
    let fitting = instruction.variants;
    for (let at = 0; at < chosen.length; at++) {
      const closer = fitting.filter((variant) => variant[at] === chosen[at]);
      if (closer.length) fitting = closer;
    }
    return fitting[0];
  }

  // The other variants of an instruction that differ in one stated parameter of an operand: its values, with mnemonics.
  function steps(data, found, operand, parameter) {
    const others = {};
    for (const [name, value] of Object.entries(operand.stated)) if (name !== parameter) others[name] = value;
    const fields = found.variant.length - 1;
    const made = new Map();
    for (const variant of found.instruction.variants) {
      let differences = 0;
      for (let at = 0; at < fields; at++) if (variant[at] !== found.variant[at]) differences++;
      if (differences > 1) continue;
      const own = operands(data, variant).find((one) => one.name === operand.name);
      if (!own || own.layout !== operand.layout || !(parameter in own.stated)) continue;
      if (Object.entries(others).every(([name, value]) => own.stated[name] === value)) made.set(own.stated[parameter], mnemonic(found.instruction, variant));
    }
    return [...made].sort((a, b) => a[0] - b[0]);
  }

  // The map that a state of the page asks for: of an operand, or of a layout alone; or why there is none.
  function tableOf(data, state) {
    const make = (id, operand, extra) => {
      const layout = data.layouts[id];
      const stated = extra.stated || {};
      return { map: ptxmma.maps.table({ id, layout, operand, parameters: ptxmma.maps.parametersOf(layout, stated, state), ...extra, stated }) };
    };
    if (state.layout && !state.mnemonic) {
      return Object.hasOwn(data.layouts, state.layout) ? make(state.layout, state.layout, {}) : { why: `there is no layout ${state.layout}` };
    }
    const found = find(data, state.mnemonic || "");
    if (!found) return { why: state.mnemonic ? `no instruction is spelled ${state.mnemonic}` : "choose an instruction" };
    const all = operands(data, found.variant);
    const own = all.find((one) => one.name.toLowerCase() === (state.operand || "").toLowerCase()) || all[0];
    if (!own) return { found, why: `no operand of ${state.mnemonic} has a layout` };
    if (own.opaque) return { found, own, why: own.opaque.replaceAll("{mnemonic}", state.mnemonic) };
    if (own.shared) return { found, own, why: `${own.name} of ${state.mnemonic} lies in shared memory, behind a matrix descriptor` };
    if (own.choices && state.idesc) {
      const placed = ptxmma.placedByWord(data, ptxmma.data.descriptors, own, state.mnemonic, state.idesc);
      if (placed.why) return { found, own, why: placed.why };
      const layout = data.layouts[placed.id];
      const parameters = ptxmma.maps.parametersOf(layout, placed.fixed, state);
      return { found, own, map: ptxmma.maps.table({ id: placed.id, layout, operand: own.name, parameters, fixed: placed.fixed, mnemonic: state.mnemonic }) };
    }
    if (own.choices) {
      const ids = Object.keys(own.choices);
      const id = ids.includes(state.layout) ? state.layout : ids[0];
      const layout = data.layouts[id];
      const parameters = ptxmma.maps.parametersOf(layout, {}, { ...firstOf(own.choices[id]), ...state });
      return { found, own, map: ptxmma.maps.table({ id, layout, operand: own.name, parameters, mnemonic: state.mnemonic }) };
    }
    return { found, own, ...make(own.layout, own.name, { stated: own.stated, width: own.width, word: own.word, mnemonic: state.mnemonic }) };
  }

  // Whether a map is the packed A of a sparse variant.
  function isPacked(data, { map, own, variant }) {
    return Boolean(map && map.packed && own && own.name === "A" && variant && setOf(data, variant.variant).sparsity);
  }

  function firstOf(deciding) {
    return Object.fromEntries(Object.entries(deciding).map(([name, values]) => [name, values[0]]));
  }

  // The first mnemonic whose product takes a descriptor with these settings, and the parts of it that lie in tensor memory.
  function product(data, descriptor, settings) {
    const takes = (one) => one.descriptor === descriptor && Object.entries(one.settings).every(([name, value]) => settings[name] === value);
    for (const instruction of Object.values(data.instructions)) {
      for (const variant of instruction.variants) {
        const parts = operands(data, variant).filter(takes);
        if (parts.length) return { mnemonic: mnemonic(instruction, variant), parts: parts.map((one) => one.name) };
      }
    }
    return null;
  }

  return { product, mnemonic, find, containing, operands, setOf, words, nearest, steps, tableOf, isPacked };
})();
