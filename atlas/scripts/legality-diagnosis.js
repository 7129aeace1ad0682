// Why a mnemonic is not legal: the nearest row, and each qualifier that does not fit it. No DOM.
"use strict";

ptxmma.diagnosis = (() => {
  const SHAPE = /^m\d+(?:n\d+)?(?:k\d+)?$/;
  const isShape = (word) => SHAPE.test(word);
  const reason = (code, message) => ({ code, message });
  const intersects = (a, b) => [...a].some((one) => b.has(one));
  const least = (items, weigh) => {
    let best = null;
    for (const item of items) {
      const weight = weigh(item);
      if (best === null || weight < best.weight) best = { item, weight };
    }
    return best.item;
  };

  // Qualifiers: those that may be permuted, those that keep their order (by class), those that repeat.
  class Spelling {
    constructor(tokens, isa) {
      const free = [];
      this.ordered = isa.classNames.map(() => []);
      for (const word of tokens) {
        const number = isa.classes.get(word);
        (number === undefined ? free : this.ordered[number]).push(word);
      }
      this.free = new Set(free);
      const twice = [...this.free].filter((word) => !isa.repeatable.has(word) && free.indexOf(word) !== free.lastIndexOf(word));
      this.repeated = twice.sort();
    }

    static without(spelling, word) {
      const made = Object.create(Spelling.prototype);
      made.ordered = spelling.ordered;
      made.repeated = spelling.repeated;
      made.free = new Set([...spelling.free].filter((one) => one !== word));
      return made;
    }

    get shape() { return [...this.free].filter(isShape).sort()[0] ?? null; }

    get words() { return new Set([...this.free, ...this.ordered.flat()]); }

    get key() {
      return `${[...this.free].sort().join(".")}|${this.orderedKey}|${this.repeated.join(".")}`;
    }

    get orderedKey() { return this.ordered.map((part) => part.join(".")).join("|"); }
  }

  // A readable list: `.m64n8k32, .m64n16k32 … .m64n256k32 (32 values)`.
  function foldWords(words, limit = 6) {
    const shown = words.map((word) => `.${word}`);
    if (shown.length <= limit) return shown.join(", ");
    return `${shown[0]}, ${shown[1]} … ${shown[shown.length - 1]} (${shown.length} values)`;
  }

  // What one row requires of a spelling; only `variants` of the row count.
  class Profile {
    constructor(row, isa, variants) {
      this.row = row;
      this.isa = isa;
      this.variants = variants;
      const { record } = row.family;
      this.ordered = isa.classNames.map(() => []);
      this.free = [];
      for (const name of record.fields) {
        const field = this.field(name);
        if (!field.tokens.size) continue;
        const numbers = new Set([...field.tokens].map((token) => isa.classes.get(token)));
        const [number] = numbers;
        if (numbers.size > 1 || number === undefined) this.free.push(field);
        else this.ordered[number].push(field);
      }
      const tolerated = record.tolerances.map((one) => one.absent);
      this.fixed = record.fixed.filter((word, i, all) => !tolerated.includes(word) && all.indexOf(word) === i);
      this.allowed = new Set([...record.fixed, ...this.free.flatMap((field) => [...field.tokens])]);
      this.wanted = this.free.filter((field) => !field.options.some((option) => !option.length));
      this.shapes = this.free.filter((field) => field.name === "shape")
        .flatMap((field) => field.options.filter((option) => option.length).map((option) => option.join(".")));
      this.places = this.ordered.map((fields) => fields.flatMap((field) => Array(field.length).fill(field.tokens)));
    }

    // A qualifier of the row: its name, and every way it may be spelled ([] when absent).
    field(name) {
      const { family } = this.row;
      let options;
      if (name in family.record.formats) {
        const spelled = new Set(this.variants.map((variant) => family.token(name, variant.fields) || ""));
        options = [...spelled].map((text) => [text]);
      } else {
        const present = new Set(this.variants.map((variant) => variant.fields[name]));
        options = this.row.domains[name].filter((value) => present.has(value))
          .map((value) => (value === ptxmma.rows.ABSENT ? [] : String(value).split(".")));
      }
      const length = Math.max(...options.map((option) => option.length));
      return { name, options, length, tokens: new Set(options.flat()) };
    }

    // How far a spelling is from this row.
    distance(spelling) {
      const { free, ordered } = spelling;
      let cost = this.fixed.filter((word) => !free.has(word)).length * 2;
      cost += [...free].filter((word) => !this.allowed.has(word)).length;
      cost += this.wanted.filter((field) => !intersects(field.tokens, free)).length;
      ordered.forEach((tokens, number) => {
        const places = this.places[number];
        cost += 3 * Math.abs(tokens.length - places.length);
        tokens.forEach((token, place) => { cost += Number(place < places.length && !places[place].has(token)); });
      });
      return cost;
    }

    // A reason for each qualifier that does not fit; `known` are all qualifiers of the instruction.
    reasons(spelling, known, shapes) {
      const { free } = spelling;
      const found = spelling.repeated.map((token) => reason("qualifier.repeated", `.${token} stands more than once`));
      const left = new Set([...free].filter((word) => !this.allowed.has(word)));
      const may = new Set([...this.allowed, ...this.places.flat().flatMap((tokens) => [...tokens])]);
      found.push(...this.missing(free, left, shapes));
      this.isa.classNames.forEach((what, number) => {
        found.push(...this.inOrder(what, spelling.ordered[number], this.ordered[number]));
      });
      found.push(...this.surplus(left, known, [...may].filter((word) => !free.has(word))));
      return found;
    }

    // Reasons for missing qualifiers; a shape in place of the right one is removed from `left`.
    *missing(free, left, shapes) {
      for (const token of this.fixed.filter((word) => !free.has(word)).sort()) {
        yield reason("qualifier.missing", `the mandatory qualifier .${token} is missing`);
      }
      for (const field of this.free) {
        const present = [...field.tokens].filter((token) => free.has(token)).sort();
        const same = (option) => new Set(option).size === present.length && present.every((one) => option.includes(one));
        if (field.options.some(same)) continue;
        const isTheShape = field.name === "shape";
        const words = isTheShape ? shapes : field.options.filter((option) => option.length).map((option) => option.join("."));
        const rival = isTheShape ? [...left].sort().find(isShape) : undefined;
        if (rival !== undefined) {
          left.delete(rival);
          yield reason("qualifier.value", `the shape .${rival} does not exist here; allowed: ${foldWords(words)}`);
        } else if (!present.length) {
          const bare = words[0] ?? "";
          const one = words.length && words.every((word) => word === bare || word.startsWith(`${bare}::`));
          const what = one ? `the qualifier .${bare} is missing` : `no ${field.name} is given`;
          yield reason("qualifier.missing", what + (words.length ? `; allowed: ${foldWords(words)}` : ""));
        } else {
          yield reason("qualifier.value", `${field.name} is .${present.join(".")}; allowed: ${foldWords(words)}`);
        }
      }
    }

    // Reasons for qualifiers that do not belong; only what is `absent` and may stand is suggested.
    *surplus(left, known, absent) {
      for (const token of [...left].sort()) {
        if (known.has(token)) yield reason("qualifier.unexpected", `.${token} does not go with the rest`);
        else {
          const guess = ptxmma.texts.nearest(token, absent);
          const hint = guess ? `; did you mean .${guess}?` : "";
          yield reason("qualifier.unknown", `there is no qualifier .${token} here${hint}`);
        }
      }
    }

    *inOrder(what, given, fields) {
      const length = fields.reduce((sum, field) => sum + field.length, 0);
      if (given.length !== length) {
        const order = fields.map((field) => `.${field.name}`).join("") || "none";
        const shown = given.map((token) => `.${token}`).join("") || "none";
        const one = given.length === 1;
        const said = `${given.length} ${what}${one ? "" : "s"} ${one ? "is" : "are"} given (${shown}); `;
        yield reason(`qualifier.${what.split(" ").pop()}s`, `${said}${length} belong${length === 1 ? "s" : ""} here: ${order}`);
        return;
      }
      let position = 0;
      for (const field of fields) {
        const part = given.slice(position, position + field.length).join(".");
        position += field.length;
        const words = field.options.filter((option) => option.length).map((option) => option.join("."));
        if (!field.options.some((option) => option.join(".") === part)) {
          yield reason("qualifier.value", `${field.name} is .${part}; allowed: ${foldWords(words)}`);
        }
      }
    }

    // The reason when every qualifier is possible by itself, but their combination is not.
    combination(spelling) {
      const { where } = this.row.record;
      const shown = spelling.ordered.flat().map((token) => `.${token}`).join("");
      return reason("qualifier.combination", `${shown} do not go together${where ? `; the rule is: ${where.text}` : ""}`);
    }

    // The variant that keeps the most of the written qualifiers, and how unlike it is.
    closest(spelling) {
      const numbersOf = (text) => (text.match(/\d+/g) || []).map(Number);
      const numbers = numbersOf(spelling.shape || "");
      const found = this.variants.map((variant) => {
        const tokens = variant.mnemonic.slice(this.row.family.name.length + 1).split(".");
        const own = numbersOf(tokens.find(isShape) || "");
        const theirs = new Spelling(tokens, this.isa);
        let unlike = [...theirs.free].filter((word) => !spelling.free.has(word)).length;
        spelling.ordered.forEach((mine, number) => {
          const other = theirs.ordered[number];
          for (let i = 0; i < Math.min(mine.length, other.length); i += 1) unlike += Number(mine[i] !== other[i]);
        });
        let far = 0;
        for (let i = 0; i < Math.min(numbers.length, own.length); i += 1) far += Math.abs(numbers[i] - own[i]);
        return { variant, unlike, far };
      });
      return closer(found);
    }
  }

  // The first of those that are least unlike, and of these the least far.
  const closer = (found) => found.reduce((best, one) =>
    (one.unlike < best.unlike || (one.unlike === best.unlike && one.far < best.far) ? one : best));

  return { Spelling, Profile, isShape, least, closer, reason };
})();
