// Descriptors: words to fields and back, and which are legal, as `ptxmma descriptor` says; nothing here draws.
"use strict";

ptxmma.descriptors = (() => {
  const { maps } = ptxmma;
  const mask = (field) => (1n << BigInt(field.high + 1)) - (1n << BigInt(field.low));
  const limit = (field) => (2 ** (field.high - field.low + 1) - 1) * field.unit;
  const hex = (descriptor, word) => `0x${word.toString(16).padStart(descriptor.bits / 4, "0")}`;

  // A number in decimal or as 0x…; null for another text.
  function number(text) {
    const parts = text.trim().match(/^([+-]?)(0x(?:_?[0-9a-f])+|0b(?:_?[01])+|0o(?:_?[0-7])+|[1-9](?:_?\d)*|0(?:_?0)*)$/i);
    if (!parts) return null;
    const value = BigInt(parts[2].replaceAll("_", ""));
    return parts[1] === "-" ? -value : value;
  }

  // Every field's value, whatever the bits outside the fields are.
  function fields(descriptor, word) {
    return Object.fromEntries(Object.entries(descriptor.fields).map(([name, field]) =>
      [name, Number((word & mask(field)) >> BigInt(field.low)) * field.unit]));
  }

  // What is wrong with the bits outside the fields; empty where all are 0.
  function reserved(descriptor, word) {
    const all = Object.values(descriptor.fields).reduce((bits, field) => bits | mask(field), 0n);
    const bits = [];
    for (let bit = 0; bit < descriptor.bits; bit++) if (((word & ~all) >> BigInt(bit)) & 1n) bits.push(bit);
    if (!bits.length) return "";
    const one = bits.length === 1;
    return `the reserved bit${one ? "" : "s"} ${bits.join(", ")} ${one ? "is" : "are"} set; ${one ? "it" : "they"} must be 0`;
  }

  // The word of fields, given as numbers or as names of values; or why there is none. Absent ones are 0, or what they always are.
  function encode(descriptor, given) {
    let word = 0n;
    for (const [name, field] of Object.entries(descriptor.fields)) {
      let value = field.constant === undefined ? 0 : field.constant * field.unit;
      if (name in given) {
        const said = value_of(name, field, given[name]);
        if (said.why) return said;
        value = said.value;
      }
      word |= BigInt(value / field.unit) << BigInt(field.low);
    }
    return { word };
  }

  function value_of(name, field, given) {
    const coded = field.values || {};
    if (typeof given === "string") {
      if (given in coded) return { value: coded[given] };
      return { why: `${name}: '${given}' is not a value; it must be ${Object.keys(coded).join(", ") || "an integer, in decimal or as 0x…"}` };
    }
    if (given < 0 || given > limit(field)) return { why: `${name}: ${given} is out of range; it must be 0..${limit(field)}` };
    if (given % field.unit) return { why: `${name}: ${given} is not a multiple of ${field.unit}` };
    if (field.values && !Object.values(coded).includes(given)) {
      return { why: `${name}: ${given} is not a value; it must be one of {${Object.entries(coded).map(([key, code]) => `'${key}': ${code}`).join(", ")}}` };
    }
    if (field.constant !== undefined && given !== field.constant * field.unit) return { why: `${name}: ${given} is not a value; it must be ${field.constant * field.unit}` };
    return { value: given };
  }

  function shown(field, value) {
    const named = Object.entries(field.values || {}).find(([, code]) => code === value);
    return named ? named[0] : `${value}`;
  }

  // Every value of the settings that are not given, beside those that are.
  function assignments(descriptor, given) {
    let found = [{ ...given }];
    for (const [name, values] of Object.entries(descriptor.settings)) {
      if (!(name in given)) found = found.flatMap((one) => values.map((value) => ({ ...one, [name]: value })));
    }
    return found;
  }

  // Whether a rule holds for a version and a target.
  function holds(data, rule, version, target) {
    return rule.silent < 0 || !(data.silent[rule.silent][target || "any"] || []).includes(version);
  }

  function symbols(descriptor, values, settings) {
    const known = { ...settings };
    for (const [name, own] of Object.entries(descriptor.names)) known[own] = values[name];
    return known;
  }

  // Every reason to refuse a word under settings that are all given, in the order of judgement.
  function reasons(data, descriptor, word, settings, version, target) {
    const found = [];
    const extra = reserved(descriptor, word);
    if (extra) found.push({ code: "descriptor.reserved", message: extra });
    const values = fields(descriptor, word);
    for (const [name, field] of Object.entries(descriptor.fields)) {
      const allowed = field.constant !== undefined ? [field.constant * field.unit] : field.values ? Object.values(field.values) : null;
      if (!allowed || allowed.includes(values[name])) continue;
      const right = allowed.map((value) => `${shown(field, value)}${field.values ? ` (${value})` : ""}`).join(" or ");
      found.push({ code: "descriptor.value", message: `${name} is ${values[name]}; it must be ${right}`, field: name });
    }
    const known = symbols(descriptor, values, settings);
    for (const rule of descriptor.rules) {
      if (maps.formula(rule.holds, rule.reads)(...rule.reads.map((name) => known[name])) || !holds(data, rule, version, target)) continue;
      const about = Object.keys(descriptor.fields).filter((name) => rule.reads.includes(descriptor.names[name])).map((name) => `${name} = ${shown(descriptor.fields[name], values[name])}`);
      for (const [name, value] of Object.entries(settings)) if (rule.reads.includes(name)) about.push(`${name} = ${value}`);
      found.push({ code: `descriptor.${rule.id}`, message: `${rule.why} (${about.join(", ")})`, section: rule.section });
    }
    return found;
  }

  // The verdict on a word. Of settings that are not given those are taken with which it is refused for the fewest reasons.
  function judge(data, descriptor, word, given = {}, version = "", target = "") {
    if (word < 0n || word >= 1n << BigInt(descriptor.bits)) return { why: `${word < 0n ? "-" : ""}0x${(word < 0n ? -word : word).toString(16)} is not a ${descriptor.bits}-bit word` };
    const newest = version || data.versions[data.versions.length - 1];
    if (!descriptor.rules.length) {
      const extra = reserved(descriptor, word);
      if (extra) return { why: extra, fields: fields(descriptor, word) };
    }
    let best = null;
    for (const settings of assignments(descriptor, given)) {
      const found = reasons(data, descriptor, word, settings, newest, target);
      if (!best || found.length < best.reasons.length) best = { settings, reasons: found };
      if (!found.length) break;
    }
    return { word, fields: fields(descriptor, word), ...best };
  }

  // What else a word says: m, n, k, widths.
  function says(descriptor, values, settings) {
    const known = symbols(descriptor, values, settings);
    return Object.fromEntries(Object.entries(descriptor.says).map(([name, [text, reads]]) => [name, Number(maps.formula(text, reads)(...reads.map((one) => known[one])))]));
  }

  // The columns that a mask zeroes, as ranges; or why that is open.
  function zeroed(descriptor, values, columns, settings) {
    const { columns: own } = descriptor;
    const read = (text, known) => Number(maps.formula(text, Object.keys(known))(...Object.values(known)));
    const parts = read(own.parts, settings);
    const long = columns / parts;
    const plain = Object.fromEntries(Object.entries(descriptor.names).map(([name, word]) => [word, values[name]]));
    const found = [];
    for (let part = 0; part < parts; part++) {
      const known = { ...plain, start: values[own.start.replace("{part}", part)], first: values[own.first.replace("{part}", part)] };
      for (let column = 0; column < long; column++) {
        const position = read(own.position, { ...known, column });
        if (read(own.zeroed, { ...known, position })) found.push(part * long + column);
      }
    }
    return found;
  }

  // `0-3, 8`; `none` where there are none.
  function ranges(columns) {
    const runs = [];
    for (const column of columns) {
      const last = runs[runs.length - 1];
      if (last && last[1] === column - 1) last[1] = column;
      else runs.push([column, column]);
    }
    return runs.map(([low, high]) => (low < high ? `${low}-${high}` : `${low}`)).join(", ") || "none";
  }

  return { number, fields, encode, judge, says, zeroed, ranges, shown, limit, hex, assignments };
})();
