// Finds the variant that a mnemonic spells, or explains why it spells none. No DOM.
"use strict";

ptxmma.mnemonics = (() => {
  const { Spelling, Profile, least, closer, reason } = ptxmma.diagnosis;

  // What each mnemonic of the instructions that share a name spells, whatever gates say.
  class Spellings {
    constructor(name, families, isa) {
      this.name = name;
      this.families = families;
      this.isa = isa;
      this.made = null;
    }

    spelling(mnemonic) {
      return new Spelling(this.behind(mnemonic), this.isa);
    }

    // The qualifiers behind the name, or beside it where those of the name stand apart.
    behind(mnemonic) {
      const words = mnemonic.split(".");
      if (mnemonic.startsWith(this.name) || !this.scattered(words)) {
        const behind = mnemonic.slice(this.name.length + 1);
        return behind ? behind.split(".") : [];
      }
      for (const word of this.name.split(".")) words.splice(words.indexOf(word), 1);
      return words;
    }

    // Whether words begin with the opcode, and have the rest of the name somewhere behind it.
    scattered(words) {
      const { opcode } = this.families[0].record;
      if (!opcode) return false;
      const start = opcode.split(".");
      const rest = this.name.split(".").slice(start.length);
      const others = words.slice(start.length);
      return start.every((word, place) => words[place] === word) && rest.every((word) => others.includes(word));
    }

    // Every legal combination by its spelling: its variant, and a note where a tolerance applies.
    get combinations() {
      if (this.made) return this.made;
      this.made = new Map();
      for (const variant of this.families.flatMap((family) => family.variants())) {
        const spelling = this.spelling(variant.mnemonic);
        this.made.set(spelling.key, { spelling, variant, note: variant.row.record.tolerated });
        for (const tolerance of variant.row.family.record.tolerances) {
          const other = Spelling.without(spelling, tolerance.absent);
          if (!this.made.has(other.key)) this.made.set(other.key, { spelling: other, variant, note: tolerance.why });
        }
      }
      this.known = new Set([...this.made.values()].flatMap((one) => [...one.spelling.words]));
      this.cases = new Map([...this.known].map((word) => [word.toLowerCase(), word]));
      return this.made;
    }

    spelled(spelling) { return this.combinations.get(spelling.key); }

    // The combinations of the text with the same shape and the same ordered qualifiers.
    alike(spelling) {
      const { shape, orderedKey } = spelling;
      return [...this.combinations.values()].filter((one) =>
        one.note === null && one.spelling.shape === shape && one.spelling.orderedKey === orderedKey);
    }

    // A mnemonic with every qualifier that the group has in the case that it has there.
    inCase(mnemonic) {
      const { combinations, cases } = this;
      const words = mnemonic.slice(this.name.length).split(".");
      return combinations && mnemonic.slice(0, this.name.length) + words.map((word) => cases.get(word.toLowerCase()) || word).join(".");
    }
  }

  const difference = (a, b) => [...a].filter((one) => !b.has(one)).length + [...b].filter((one) => !a.has(one)).length;

  // All instructions that share one name, at one version and target; `isOpen` tells which gates are open there.
  class Group {
    constructor(spellings, isOpen) {
      this.spellings = spellings;
      this.families = spellings.families;
      this.isOpen = isOpen;
      this.rowsMade = null;
      this.profilesMade = null;
    }

    // The rows with the variants that may be suggested: the text has them, and their gates are open.
    get openRows() {
      if (!this.rowsMade) {
        const rows = this.families.flatMap((family) => family.rows).filter((row) => !row.record.tolerated);
        this.rowsMade = rows.map((row) => ({ row, variants: row.variants().filter((one) => this.isOpen(one.gate)) }))
          .filter((one) => one.variants.length);
      }
      return this.rowsMade;
    }

    // What the rows with an open variant require; what all rows do where every gate is shut.
    get profiles() {
      if (!this.profilesMade) {
        const rows = this.families.flatMap((family) => family.rows).filter((row) => !row.record.tolerated);
        const shut = () => rows.map((row) => ({ row, variants: row.variants() }));
        const chosen = this.openRows.length ? this.openRows : shut();
        this.profilesMade = chosen.map(({ row, variants }) => new Profile(row, this.spellings.isa, variants));
      }
      return this.profilesMade;
    }

    // The nearest variant that is open; null where none is, or where it would be another computation.
    suggestion(mnemonic) {
      const spelling = this.spellings.spelling(mnemonic);
      const found = this.spellings.spelled(spelling);
      if (!found) return this.openRows.length ? this.closest(spelling) : null;
      if (this.isOpen(found.variant.gate)) return found.variant;
      const opened = this.spellings.alike(spelling).filter((one) => this.isOpen(one.variant.gate));
      if (!opened.length) return null;
      return least(opened, (one) => difference(one.spelling.free, spelling.free)).variant;
    }

    // Why a spelling that is in no row is not legal.
    diagnose(spelling) {
      const { spellings } = this;
      const { known, cases } = spellings.combinations && spellings;
      const wrong = [...spelling.words].filter((word) => !known.has(word) && cases.has(word.toLowerCase())).sort();
      if (wrong.length) {
        const said = wrong.map((word) => `.${cases.get(word.toLowerCase())}, not .${word}`).join("; ");
        return [reason("qualifier.unknown", `PTX tells upper from lower case: ${said}`)];
      }
      const near = this.nearestProfiles(spelling);
      const besides = near.map((profile) => JSON.stringify(profile.reasons(spelling, known, [])));
      const alike = near.filter((_, i) => besides[i] === besides[0]);
      const shapes = [...new Set(alike.flatMap((profile) => profile.shapes))];
      const reasons = near[0].reasons(spelling, known, shapes);
      return reasons.length ? reasons : [near[0].combination(spelling)];
    }

    // The rows that a spelling comes nearest to: several where they are equally near.
    nearestProfiles(spelling) {
      const costs = this.profiles.map((profile) => profile.distance(spelling));
      const lowest = Math.min(...costs);
      return this.profiles.filter((_, i) => costs[i] === lowest);
    }

    closest(spelling) { return closer(this.nearestProfiles(spelling).map((profile) => profile.closest(spelling))).variant; }

    // Whether the nearest variant has one qualifier more, in a group without element types.
    lacksOne(spelling) {
      if (!this.profiles.length) return false;
      const near = this.spellings.spelling(this.closest(spelling).mnemonic);
      const more = [...near.free].filter((word) => !spelling.free.has(word)).length;
      return !near.ordered.flat().length && near.shape === spelling.shape && more === 1;
    }
  }

  return { Spellings, Group };
})();
