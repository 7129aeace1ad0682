// Judges a statement together with the word of its instruction descriptor, as `ptxmma legal --idesc` does. No DOM.
"use strict";

ptxmma.described = (() => {
  const { descriptors: words } = ptxmma;
  const CHOSEN = /\{(\w+)\}/g; // the place in a descriptor's name where the last part of a field's value is put in

  // The operand of a variant that holds the word; null where it has none.
  function operandOf(variant, form) {
    const name = (form || variant.forms[0]).operands.find((one) => variant.operands[one].word);
    return name === undefined ? null : variant.operands[name];
  }

  // The name of the descriptor that the word is; empty where there is no word, or none that is known.
  function nameOf(variant, form) {
    const { word } = operandOf(variant, form) || {};
    if (!word || (word.where !== null && !variant.evaluate(word.where))) return "";
    return word.descriptor.replace(CHOSEN, (_, field) => String(variant.fields[field]).split("::").pop());
  }

  // Which descriptor the word is, and what the statement says for its settings; or why that is not known.
  function wordOf(data, variant, form) {
    const operand = operandOf(variant, form);
    if (!operand) return { why: `${variant.mnemonic} takes no instruction descriptor` };
    const name = nameOf(variant, form);
    if (!name) return { why: `the instruction descriptor of ${variant.mnemonic} is not known` };
    const { word } = operand;
    const descriptor = data.descriptors[name];
    const stated = Object.entries(word.settings).filter(([key]) => key in descriptor.settings);
    return { name, descriptor, settings: Object.fromEntries(stated.map(([key, tree]) => [key, Number(variant.evaluate(tree))])) };
  }

  // The answer to a statement with a word: that of the statement alone, the word's reasons added, and the verdict on the word.
  function answer(judge, data, text, word, ptx, target) {
    const number = words.number(word);
    if (number === null) return { why: `'${word}' is not an integer; write it in decimal or as 0x…` };
    const alone = judge.answer(text);
    const { variant, form } = judge.judge(text);
    if (!variant) return alone;
    const found = wordOf(data, variant, form);
    if (found.why) return found;
    const said = words.judge(data, found.descriptor, number, found.settings, ptx, target);
    if (said.why) return said;
    const reasons = said.reasons.map(({ code, message }) => ({ code, message }));
    return {
      ...alone,
      verdict: reasons.length ? "illegal" : alone.verdict,
      reasons: [...alone.reasons, ...reasons],
      nearest: null,
      idesc: { ...found, ...said },
    };
  }

  return { operandOf, nameOf, wordOf, answer };
})();
