// Judges one PTX statement for a PTX ISA version and a target, as `ptxmma legal` does. No DOM.
"use strict";

ptxmma.legality = (() => {
  const SUM = "a register and a constant as one operand: every ptxas adds them, the text has sums in addresses alone";
  const UNDECLARED = "no declaration before the statement: its type was not judged";
  const BESIDE =
    "a special register, or a literal in a vector: the text has other registers alone, and ptxas refuses it " +
    "in places, such as where a target emulates the instruction";
  const { Fault, Declared, read, argumentsOf, elementKind } = ptxmma.statements;
  const { Isa, Family, version, versionText } = ptxmma.rows;
  const { Spellings, Group } = ptxmma.mnemonics;
  const { least, reason } = ptxmma.diagnosis;
  const { strip, rstrip, words, isAscii, nearest, matches, counted } = ptxmma.texts;

  // How far operands are from a form: a wrong kind weighs more than a wrong count.
  const WEIGHTS = { "operand.kind": 4, "operand.count": 2 };
  const weight = (reasons) => reasons.reduce((sum, one) => sum + (WEIGHTS[one.code] || 1), 0);

  // The specification, as data/legality.js has it.
  class Specification {
    constructor(data) {
      this.isa = new Isa(data);
      this.families = data.instructions.map((record) => new Family(record, this.isa));
      const named = new Map();
      for (const family of this.families) named.set(family.name, [...(named.get(family.name) || []), family]);
      this.spellings = new Map([...named].map(([name, found]) => [name, new Spellings(name, found, this.isa)]));
      this.judges = new Map();
      this.listed = null;
    }

    // A judge; "" stands for the newest version and for any target.
    judge(ptx = "", target = "") {
      const key = `${ptx} ${target}`;
      if (!this.judges.has(key)) this.judges.set(key, new Judge(this, ptx ? version(ptx) : this.isa.newest, target || null));
      return this.judges.get(key);
    }

    // The variant with a canonical mnemonic, tolerated ones too.
    variantOf(mnemonic) { return this.families.flatMap((family) => family.variants()).find((one) => one.mnemonic === mnemonic); }

    // The variants that a pattern means, as `ptxmma list` finds them.
    matching(pattern) {
      const wanted = rstrip(rstrip(strip(pattern), (sign) => sign === ";")).toLowerCase();
      if (!this.listed) {
        this.listed = this.families.flatMap((family) => family.listed());
        this.names = this.listed.map((variant) => variant.mnemonic.toLowerCase());
      }
      const { listed, names } = this;
      const wild = (text) => /[*?[]/.test(text);
      const like = wild(wanted) ? (name) => matches(name, wanted) : (name) => name.includes(wanted);
      const tests = [
        (variant) => variant.row.family.id === wanted,
        (_, i) => `${names[i]}.`.startsWith(`${wanted}.`),
        (_, i) => like(names[i]),
      ];
      for (const test of tests) {
        const found = listed.filter(test);
        if (found.length) return found;
      }
      if (!wanted.includes(".")) return [];
      const parts = wanted.split(".");
      const plain = parts.filter((word) => !wild(word));
      return listed.filter((_, i) =>
        plain.every((word) => names[i].includes(word)) && inOrder(parts, names[i].split(".")));
    }

    // The instructions whose names have the first words of a mnemonic, as many as possible, in order.
    instructionsLike(families, mnemonic) {
      const parts = rstrip(rstrip(strip(mnemonic), (sign) => sign === ";")).toLowerCase().split(".");
      for (let count = parts.length; count > 0; count -= 1) {
        const found = families.map((family) => family.id).filter((id) => inOrder(parts.slice(0, count), id.split(".")));
        if (found.length) return found;
      }
      return [];
    }
  }

  // Whether words match `wanted` one after another, others between them left out.
  function inOrder(wanted, given) {
    let at = 0;
    return wanted.every((pattern) => {
      while (at < given.length && !matches(given[at], pattern)) at += 1;
      at += 1;
      return at <= given.length;
    });
  }

  class Judge {
    constructor(specification, ptx, target) {
      this.specification = specification;
      this.isa = specification.isa;
      this.ptx = ptx;
      this.target = target;
      const isOpen = (gate) => !this.gateReasons(gate).length;
      this.groups = new Map([...specification.spellings].map(([name, one]) => [name, new Group(one, isOpen)]));
      this.gates = new Map();
    }

    // What `ptxmma legal --format json` says about a text.
    answer(text) {
      const found = this.judge(text);
      const { variant = null, form = null } = found;
      return {
        verdict: found.verdict,
        reasons: found.reasons,
        notes: found.notes || [],
        ptx: variant && variant.mnemonic,
        row: variant && variant.row.id,
        since: variant && versionText(variant.gate.since),
        operands: form && form.operands,
        nearest: found.verdict === "legal" ? null : this.nearestForm(text),
      };
    }

    judge(text) {
      let statement;
      try {
        statement = read(text);
      } catch (fault) {
        if (!(fault instanceof Fault)) throw fault;
        return this.unreadable(text, fault);
      }
      const named = this.judgeMnemonic(statement.mnemonic);
      if (!named.variant) return named;
      const { form, reasons: faults } = this.judgeOperands(named.variant, statement);
      const { special } = this.isa.data;
      const reasons = [...named.reasons, ...parted(named.variant, statement), ...faults, ...guarded(statement, special)];
      reasons.push(...this.late(statement));
      const tolerates = !reasons.length && form;
      const notes = tolerates ? [...(named.notes || []), ...tolerated(named.variant, form, statement, special)] : named.notes;
      return { ...named, verdict: reasons.length ? "illegal" : "legal", reasons, notes, form };
    }

    // Which special registers of a statement are not there under this version or on this target.
    late(statement) {
      const names = statement.guard ? [statement.guard.replace(/^!+/, "")] : [];
      try {
        names.push(...argumentsOf(statement.operands).flatMap((one) => one.registers));
      } catch (fault) {
        if (!(fault instanceof Fault)) throw fault;
      }
      const { late } = this.isa.data;
      const isLate = (name) => late[name] !== undefined && statement.declared.get(name) === undefined;
      return [...new Set(names)].filter(isLate).flatMap((name) =>
        this.gateReasons(this.isa.effective([late[name]])).map(({ message }) =>
          reason("operand.special", `the special register ${name}: ${message}`)));
    }

    // The verdict on text that is not a statement; a mnemonic alone is judged all the same.
    unreadable(text, fault) {
      const syntax = reason("syntax", `column ${fault.column}: ${fault.message}`);
      const head = words(text);
      const name = head.length ? rstrip(head[0], (sign) => sign === ";") : "";
      if (!isAscii(name)) return { verdict: "unknown", reasons: [syntax] };
      const alone = name && head.length === 1 ? this.judgeMnemonic(name).reasons : [];
      return { verdict: this.groupOf(name) ? "illegal" : "unknown", reasons: [syntax, ...alone] };
    }

    groupOf(mnemonic) {
      let found = null;
      for (const [name, group] of this.groups) {
        const begins = mnemonic === name || mnemonic.startsWith(`${name}.`);
        if (begins && (!found || name.length > found.spellings.name.length)) found = group;
      }
      if (found) return found;
      const groups = [...this.groups];
      const longest = Math.max(...groups.map(([name]) => name.split(".").length));
      const words = mnemonic.split(".").slice(0, longest);
      const apart = groups.find(([, group]) => group.spellings.scattered(words));
      return apart ? apart[1] : null;
    }

    // The verdict on name and qualifiers, gates included.
    judgeMnemonic(mnemonic) {
      const group = this.groupOf(mnemonic);
      if (!group) return { verdict: "unknown", reasons: [this.unknownName(mnemonic)] };
      const spelling = group.spellings.spelling(mnemonic);
      const found = group.spellings.spelled(spelling);
      if (!found) return { verdict: "illegal", reasons: this.unspelled(group, mnemonic, spelling) };
      const { variant, note } = found;
      const reasons = this.gateReasons(variant.gate);
      const notes = [note, this.target && this.isa.nameNote(this.target, this.ptx)].filter((one) => one);
      const { deprecated } = variant.gate;
      if (deprecated && deprecated <= this.ptx && !reasons.length) {
        notes.push(`deprecated since PTX ISA ${versionText(deprecated)}`);
      }
      return { verdict: reasons.length ? "illegal" : "legal", reasons, notes, variant };
    }

    // Why a mnemonic of a group is in none of its rows.
    unspelled(group, mnemonic, spelling) {
      const count = this.incomplete(group, mnemonic, spelling);
      let reasons;
      if (count) {
        const part = `${mnemonic} is not a whole mnemonic: ${count} match`;
        reasons = [reason("qualifier.missing", `${part}; \`ptxmma list ${mnemonic}\` names them`)];
      } else reasons = group.diagnose(spelling);
      if (group.openRows.length) return reasons;
      return [...this.gateReasons(this.isa.effective([group.families[0].record.gate])), ...reasons];
    }

    // How many mnemonics a text may be the beginning of; 0 where the nearest row is likely meant.
    incomplete(group, mnemonic, spelling) {
      if (spelling.ordered.flat().length || group.lacksOne(spelling)) return 0;
      const found = this.specification.matching(mnemonic).length;
      return found > 1 ? found : 0;
    }

    unknownName(mnemonic) {
      const message = `the specification does not hold the instruction ${mnemonic}`;
      const lower = mnemonic.toLowerCase();
      const known = this.groupOf(lower);
      if (known && known !== this.groupOf(mnemonic)) {
        return reason("opcode.unknown", `${message}; PTX tells upper from lower case: write ${known.spellings.name}`);
      }
      const opened = [...this.groups].filter(([, group]) => group.openRows.length);
      const names = opened.map(([name]) => name);
      const close = nearest(lower, names) || nearest(lower.split(".").slice(0, 2).join("."), names);
      const families = [...new Set(opened.flatMap(([, group]) => group.openRows.map((one) => one.row.family)))];
      const like = this.specification.instructionsLike(families, mnemonic);
      const likely = like.length ? like : close ? [close] : [];
      const nearestAre = likely.length === 1 ? "the nearest that it has is" : "it has";
      return reason("opcode.unknown", message + (likely.length ? `; ${nearestAre} ${likely.join(", ")}` : ""));
    }

    // Why a gate is shut for this version and target; none when it is open.
    gateReasons(gate) {
      if (!this.gates.has(gate)) this.gates.set(gate, [...this.shut(gate)]);
      return this.gates.get(gate);
    }

    *shut(gate) {
      let { since } = gate;
      if (this.target !== null) {
        const exists = this.isa.begins[this.target];
        if (!gate.targets.has(this.target)) {
          const begun = Math.max(this.ptx, gate.since);
          const admitted = [...gate.targets].filter(([, begin]) => begin <= begun).map(([name]) => name);
          yield reason("gate.target", `not on ${this.target}; it needs one of ${admitted.join(", ") || "none"}`);
        } else since = gate.targets.get(this.target);
        if (exists > this.ptx) {
          const needs = `needs PTX ISA ${versionText(exists)} or later`;
          yield reason("gate.target_version", `the target ${this.target} itself ${needs}`);
          since = gate.since;
        }
      }
      if (this.ptx < since) {
        yield reason("gate.since", `it needs PTX ISA ${versionText(since)} or later, not ${versionText(this.ptx)}`);
      }
      if (gate.removed !== null && this.ptx >= gate.removed) {
        yield reason("gate.removed", `it was removed in PTX ISA ${versionText(gate.removed)}`);
      }
    }

    // The form that the operands take, and what is wrong with them.
    judgeOperands(variant, statement) {
      let given;
      try {
        given = argumentsOf(statement.operands);
        const tried = variant.forms.map((form) => ({ form, reasons: [...this.compare(variant, form, given, statement)] }));
        return least(tried, (one) => weight(one.reasons));
      } catch (fault) {
        if (!(fault instanceof Fault) || given) throw fault;
        const column = statement.mnemonic.length + fault.column;
        return { form: null, reasons: [reason("syntax", `column ${column}: ${fault.message}`)] };
      }
    }

    *compare(variant, form, given, statement) {
      if (form.gate !== null) yield* this.gateReasons(this.isa.effective([form.gate]));
      const wanted = form.operands;
      if (given.length !== wanted.length) {
        const here = `${wanted.length || "none"} belong${wanted.length < 2 ? "s" : ""} here`;
        const names = wanted.length ? `: ${wanted.join(", ")}` : "";
        const verb = given.length === 1 ? "is" : "are";
        yield reason("operand.count", `${counted(given.length, "operand")} ${verb} given; ${here}${names}`);
      }
      for (let i = 0; i < Math.min(wanted.length, given.length); i += 1) {
        yield* ptxmma.operands.fits(variant, wanted[i], given[i], statement);
      }
    }

    // The nearest legal form of a statement, or of a mnemonic without operands; null where none is known.
    nearestForm(text) {
      try {
        return this.suggest(read(text));
      } catch (fault) {
        if (!(fault instanceof Fault)) throw fault;
        const parts = words(text);
        return parts.length === 1 ? this.suggest({ mnemonic: parts[0], operands: "", declared: new Declared() }) : null;
      }
    }

    suggest(statement) {
      let { mnemonic } = statement;
      const group = this.groupOf(mnemonic) || this.groupOf(mnemonic.toLowerCase());
      if (!group) return null;
      if (!group.spellings.spelled(group.spellings.spelling(mnemonic))) {
        const lower = mnemonic.toLowerCase();
        const other = this.groupOf(lower);
        if (other && this.incomplete(other, lower, other.spellings.spelling(lower))) return null;
        mnemonic = group.spellings.inCase(mnemonic);
      }
      const variant = group.suggestion(mnemonic);
      if (!variant) return null;
      const forms = variant.forms.filter((form) => this.takes(variant, form));
      if (!forms.length) return null;
      const form = forms.length === 1 ? forms[0] : this.formNearest(variant, forms, statement);
      const operands = form.operands.map((name) => ptxmma.operands.written(variant, name)).join(", ");
      return `${strip(`${variant.mnemonic} ${operands}`)};`;
    }

    // Whether a form's own gate, if it has one, is open beside those of the variant.
    takes(variant, form) {
      if (form.gate === null) return true;
      const gates = [...variant.row.gatesOn(variant.fields), form.gate];
      return !this.gateReasons(this.isa.effective(gates)).length;
    }

    formNearest(variant, forms, statement) {
      let given = [];
      try {
        given = argumentsOf(statement.operands);
      } catch (fault) {
        if (!(fault instanceof Fault)) throw fault;
      }
      return least(forms, (form) => weight([...this.compare(variant, form, given, statement)]));
    }
  }

  // Where a blank parts a mnemonic that it may not part.
  function parted(variant, statement) {
    if (!statement.written) return [];
    const { record, name } = variant.row.family;
    const [stem] = (record.opcode || name).split("::");
    let place = 0;
    for (const word of statement.written.slice(0, -1)) {
      place += word.length;
      const behind = statement.mnemonic.slice(place);
      if (place < stem.length || !(behind.startsWith(".") || (place === stem.length && behind.startsWith("::")))) {
        const what = place < stem.length ? `no blank may part ${stem}` : `no blank may stand before ${behind}`;
        return [reason("syntax", `column ${place + 1}: ${what}`)];
      }
    }
    return [];
  }

  // What the text does not have in the operands of a legal statement, and ptxas takes.
  function tolerated(variant, form, statement, special) {
    const given = argumentsOf(statement.operands);
    const isSpecial = (text) => special[text] && statement.declared.get(text) === undefined;
    const other = (one) => one.literals || one.registers.some(isSpecial);
    const notes = given.some((one) => one.shape === "sum") ? [SUM] : [];
    if (!statement.declared.empty) notes.push(...undeclared(given, statement, special));
    const noted = form.operands.some((name, place) => !variant.operands[name].elements && other(given[place]));
    return noted ? [...notes, BESIDE] : notes;
  }

  // Which registers have no declaration, where others have one; the name in an address may be that of a variable.
  function undeclared(given, statement, special) {
    const names = given.filter((one) => one.shape !== "address").flatMap((one) => one.registers);
    if (statement.guard) names.push(statement.guard.replace(/^!+/, ""));
    const unknown = [...new Set(names)].filter((name) => !ptxmma.operands.typeOf(name, statement, special));
    return unknown.filter((name) => elementKind(name) === "register").map((name) => `${name} has ${UNDECLARED}`);
  }

  // What is wrong with the predicate that guards a statement.
  function guarded(statement, special) {
    const register = statement.guard ? statement.guard.replace(/^!+/, "") : "";
    const declared = statement.declared.get(register) || special[register] || "pred";
    if (declared === "pred") return [];
    return [reason("guard.type", `the guard ${register} is .${declared}; it must be .pred`)];
  }

  return { Specification };
})();
