// The rows of instructions as objects: variants, mnemonics, effective gates; all from data. No DOM.
"use strict";

ptxmma.rows = (() => {
  const ABSENT = "none";

  // Versions are numbers, so that 9.10 comes after 9.9.
  const version = (text) => {
    const [major, minor] = text.split(".").map(Number);
    return major * 1000 + minor;
  };
  const versionText = (number) => `${Math.floor(number / 1000)}.${number % 1000}`;

  // How a qualifier is named inside a formula: shared::cta is shared_cta.
  const asName = (word) => word.replaceAll("::", "_").replaceAll(".", "_");

  const OPERATORS = {
    "+": (a, b) => a + b,
    "-": (a, b) => a - b,
    "*": (a, b) => a * b,
    "//": (a, b) => Math.floor(a / b),
    "%": (a, b) => a - b * Math.floor(a / b),
    "&": (a, b) => Number(BigInt(a) & BigInt(b)),
    "|": (a, b) => Number(BigInt(a) | BigInt(b)),
    "^": (a, b) => Number(BigInt(a) ^ BigInt(b)),
    "<<": (a, b) => a * 2 ** b,
    ">>": (a, b) => Math.floor(a / 2 ** b),
    "==": (a, b) => a === b,
    "!=": (a, b) => a !== b,
    "<": (a, b) => a < b,
    "<=": (a, b) => a <= b,
    ">": (a, b) => a > b,
    ">=": (a, b) => a >= b,
  };

  // The value of a formula's tree: a number, a name (text), or [operator, operands].
  function evaluate(tree, valueOf) {
    if (typeof tree === "number") return tree;
    if (typeof tree === "string") return valueOf(tree);
    const [operator, ...operands] = tree;
    const read = (one) => evaluate(one, valueOf);
    if (operator === "and") return operands.every(read);
    if (operator === "or") return operands.some(read);
    if (operator === "not") return !read(operands[0]);
    if (operator === "where") return read(operands[0]) ? read(operands[1]) : read(operands[2]);
    if (operator === "bits") return read(operands[0]).toString(2).replace(/^0$/, "").length;
    return OPERATORS[operator](read(operands[0]), read(operands[1]));
  }

  // Versions, targets, element types, and how gates combine.
  class Isa {
    constructor(data) {
      this.data = data;
      this.newest = version(data.isa);
      this.targets = Object.keys(data.targets);
      this.begins = Object.fromEntries(this.targets.map((name) => [name, version(data.targets[name].since)]));
      this.gates = data.gates.map(([since, deprecated, removed, targets]) => ({
        since: version(since),
        deprecated: deprecated && version(deprecated),
        removed: removed && version(removed),
        targets: new Set(targets === "any" ? this.targets : targets.map((place) => this.targets[place])),
      }));
      this.effects = new Map();
      const ordered = [Object.keys(data.types), ...Object.values(data.ordered)];
      this.classes = new Map(ordered.flatMap((words, number) => words.map((word) => [word, number])));
      this.classNames = ["element type", ...Object.keys(data.ordered)];
      this.repeatable = new Set(data.repeatable);
    }

    // The conjunction of gates, by their numbers: the latest since, the earliest end, the common targets.
    effective(numbers) {
      const key = numbers.join();
      if (!this.effects.has(key)) this.effects.set(key, this.conjunction(numbers.map((n) => this.gates[n])));
      return this.effects.get(key);
    }

    conjunction(gates) {
      const least = (values) => values.reduce((a, b) => (a === null || b < a ? b : a), null);
      const latest = Math.max(...gates.map((gate) => gate.since));
      const removed = least(gates.map((gate) => gate.removed).filter((one) => one));
      const deprecated = least(gates.map((gate) => gate.deprecated).filter((one) => one));
      const targets = new Map();
      for (const name of this.targets) {
        const begin = Math.max(latest, this.begins[name]);
        if (gates.every((gate) => gate.targets.has(name)) && (removed === null || begin < removed)) {
          targets.set(name, begin);
        }
      }
      const since = least([...targets.values()]) ?? latest;
      return { since, deprecated, removed, targets };
    }

    // What a target is named under a version, where that is another name; null where it is not.
    nameNote(target, ptx) {
      const { renamed } = this.data.targets[target];
      const older = this.targets.find((name) => this.data.targets[name].renamed?.to === target);
      if (renamed && version(renamed.since) <= ptx) {
        return `${target} is renamed ${renamed.to} since PTX ISA ${renamed.since}`;
      }
      if (older && this.begins[older] <= ptx && ptx < this.begins[target]) {
        return `${target} is the name since PTX ISA ${versionText(this.begins[target])}; before, it is ${older}`;
      }
      return null;
    }
  }

  // One instruction: its syntax in pieces, its rows.
  class Family {
    constructor(record, isa) {
      this.record = record;
      this.isa = isa;
      this.name = record.name;
      this.id = record.instruction;
      this.rows = record.rows.map((row) => new Row(this, row));
    }

    // How a field is spelled in a mnemonic; null when the qualifier is absent.
    token(field, fields) {
      const format = this.record.formats[field];
      if (format !== undefined) return format.replace(/\{(\w+)\}/g, (_, name) => fields[name]);
      return fields[field] === ABSENT ? null : String(fields[field]);
    }

    variants() { return this.rows.flatMap((row) => row.variants()); }

    // Without the rows that assemblers merely tolerate.
    listed() { return this.rows.filter((row) => !row.record.tolerated).flatMap((row) => row.variants()); }
  }

  // A small product of field values with its own gate.
  class Row {
    constructor(family, record) {
      this.family = family;
      this.record = record;
      this.id = `${family.id}/${record.id}`;
      this.domains = record.domains;
      this.made = null;
    }

    // The value of a name in a formula: a field, the width of a field's type, or a word for itself.
    value(name, fields) {
      if (name in fields) return typeof fields[name] === "string" ? asName(fields[name]) : fields[name];
      const field = name.endsWith("_bits") ? name.slice(0, -5) : "";
      return field in fields ? this.family.isa.data.types[fields[field]].bits : name;
    }

    evaluate(tree, fields) { return evaluate(tree, (name) => this.value(name, fields)); }

    variants() {
      if (!this.made) {
        const names = Object.keys(this.domains);
        let found = [{}];
        for (const name of names) {
          found = found.flatMap((fields) => this.domains[name].map((value) => ({ ...fields, [name]: value })));
        }
        const { where } = this.record;
        if (where) found = found.filter((fields) => this.evaluate(where.tree, fields));
        this.made = found.map((fields) => new Variant(this, fields));
      }
      return this.made;
    }

    // The numbers of the gates that apply to a combination.
    gatesOn(fields) {
      const { record } = this.family;
      const own = this.record.gate === null ? [] : [this.record.gate];
      const conditions = [...record.gates, ...this.record.gates].filter((one) => this.evaluate(one.when, fields));
      return [record.gate, ...own, ...conditions.map((one) => one.gate)];
    }
  }

  // One legal combination of field values, and the mnemonic that spells it.
  class Variant {
    constructor(row, fields) {
      this.row = row;
      this.fields = fields;
      this.gateMade = null;
      const { family } = row;
      this.mnemonic = family.record.pieces.map(([literal, dot, field]) => {
        const text = field ? family.token(field, fields) : null;
        return text === null ? literal : literal + dot + text;
      }).join("");
    }

    get gate() {
      if (!this.gateMade) this.gateMade = this.row.family.isa.effective(this.row.gatesOn(this.fields));
      return this.gateMade;
    }

    get operands() { return this.row.family.record.operands; }

    // The operand lists that the combination may take: [name, form].
    get forms() {
      const { forms } = this.row.family.record;
      return this.row.record.forms.map((name) => forms[name]);
    }

    evaluate(tree) { return this.row.evaluate(tree, this.fields); }

    allows(valid, value) { return Boolean(this.row.evaluate(valid.tree, { ...this.fields, value })); }

    // The values that an immediate operand may have.
    values(operand) {
      const values = operand.values || [];
      return operand.valid ? values.filter((value) => this.allows(operand.valid, value)) : values;
    }

    // The declared types that an operand's registers may have; null when nothing says.
    registerTypes(name) {
      const { record, isa } = this.row.family;
      if (this.row.record.registers[name]) return this.row.record.registers[name];
      const operand = record.operands[name];
      if (operand.holds === null) return operand.types;
      const element = String(this.fields[operand.holds]);
      return record.registers[element] || isa.data.types[element].registers;
    }
  }

  return { ABSENT, Isa, Family, version, versionText };
})();
