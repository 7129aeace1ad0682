// The form builder: the qualifiers of an instruction slot by slot, which go together, and why others do not. No DOM.
"use strict";

ptxmma.builder = (() => {
  // How each slot of the syntax is spelled in a variant; "" where the qualifier is absent.
  function tokensOf(variant) {
    const { family } = variant.row;
    return Object.fromEntries(family.record.fields.map((name) => [name, family.token(name, variant.fields) ?? ""]));
  }

  class Builder {
    constructor(specification, id) {
      this.specification = specification;
      this.family = specification.families.find((one) => one.id === id);
      this.variants = this.family.listed();
      this.tokens = new Map(this.variants.map((variant) => [variant, tokensOf(variant)]));
      this.slots = this.family.record.fields.map((name) => ({
        name, options: [...new Set(this.variants.map((variant) => this.tokens.get(variant)[name]))],
      })).filter((slot) => slot.options.length > 1);
      this.byName = new Map(this.variants.map((variant) => [variant.mnemonic, variant]));
    }

    // Whether a variant is legal for a judge's version and target.
    isOpen(judge, variant) { return !judge.gateReasons(variant.gate).length; }

    // The first variant that is legal there; the first of all where none is.
    first(judge) { return this.variants.find((variant) => this.isOpen(judge, variant)) || this.variants[0]; }

    // The mnemonic with other qualifiers in some slots, legal or not.
    spelled(tokens) {
      return this.family.record.pieces.map(([literal, dot, field]) => {
        const token = field ? tokens[field] : "";
        return literal + (token ? dot + token : "");
      }).join("");
    }

    changed(variant, slot, option) { return this.spelled({ ...this.tokens.get(variant), [slot]: option }); }

    // The variant with another qualifier in one slot; null where there is none that is legal.
    with(judge, variant, slot, option) {
      const found = this.byName.get(this.changed(variant, slot, option));
      return found && this.isOpen(judge, found) ? found : null;
    }

    // Why a qualifier does not go with the others; "" where it does.
    why(judge, variant, slot, option) {
      if (this.with(judge, variant, slot, option)) return "";
      const mnemonic = this.changed(variant, slot, option);
      const named = judge.judgeMnemonic(mnemonic);
      if (named.variant && named.variant.row.family !== this.family) return `${mnemonic} is a form of ${named.variant.row.family.id}`;
      return named.reasons.map((one) => one.message).join("; ");
    }

    // The legal variant with a qualifier in one slot that keeps the most of the others; null where none has it.
    nearest(judge, variant, slot, option) {
      const wanted = this.tokens.get(variant);
      let best = null;
      for (const one of this.variants) {
        const tokens = this.tokens.get(one);
        if (tokens[slot] !== option || !this.isOpen(judge, one)) continue;
        const kept = Object.keys(wanted).filter((name) => tokens[name] === wanted[name]).length;
        if (!best || kept > best.kept) best = { one, kept };
      }
      return best && best.one;
    }
  }

  return { Builder };
})();
