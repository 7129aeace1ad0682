// Where a part of a product lies in tensor memory, by the word of its instruction descriptor; nothing here draws.
"use strict";

ptxmma.placedByWord = (() => {
  const { maps } = ptxmma;
  const read = ([text, reads], known) => Number(maps.formula(text, reads)(...reads.map((name) => known[name])));
  const words = () => ptxmma.descriptors;
  const MANY = 4; // so many consecutive integers are listed

  // The values to choose from, as `ptxmma` says them: `0 or 1`; many in equal steps are `8 to 256 in steps of 8`.
  function oneOf(values) {
    const step = values[1] - values[0];
    const even = values.length > MANY && step > 0 && values.every((value, i) => value === values[0] + i * step);
    if (!even) return values.join(" or ");
    return `${values[0]} to ${values[values.length - 1]}${step > 1 ? ` in steps of ${step}` : ""}`;
  }

  // What a word says of the product, by name: settings, fields, and what follows; or why it is no descriptor of it.
  function world(descriptors, own, mnemonic, text) {
    const descriptor = descriptors.descriptors[own.descriptor];
    const word = words().number(text);
    if (word === null) return { why: `'${text}' is not an integer; write it in decimal or as 0x…` };
    const said = words().judge(descriptors, descriptor, word, own.settings);
    if (said.why) return said;
    if (said.reasons.length) {
      const more = said.reasons.length - 1;
      const beside = more ? ` (and ${more} reason${more === 1 ? "" : "s"} more)` : "";
      return { why: `0x${word.toString(16)} is not an instruction descriptor of ${mnemonic}: ${said.reasons[0].message}${beside}` };
    }
    const fields = Object.fromEntries(Object.entries(descriptor.names).map(([name, other]) => [other, said.fields[name]]));
    const says = words().says(descriptor, said.fields, own.settings);
    return { known: { ...own.settings, ...fields, ...says }, deciding: [...Object.keys(own.settings), ...Object.keys(says)] };
  }

  // The layout of an operand, and the parameters that follow from the word; or why there is none.
  function placedByWord(data, descriptors, own, mnemonic, text) {
    const { known, deciding, why } = world(descriptors, own, mnemonic, text);
    if (why) return { why };
    const laid = Object.entries(data.layouts).filter(([, layout]) => layout.part === own.name && layout.when);
    const id = laid.find(([, layout]) => read(layout.when, { ...data.least, ...known }))?.[0];
    if (!id) {
      const asked = new Set(laid.flatMap(([, layout]) => layout.when[1]));
      const shown = deciding.filter((name) => name in own.settings || asked.has(name)).map((name) => `${name} ${known[name]}`);
      return { why: `no layout of ${own.name} in tensor memory is known with ${shown.join(", ")}` };
    }
    const fixed = {};
    for (const [name, values] of Object.entries(data.layouts[id].params)) {
      const formula = data.layouts[id].arguments[name] || [name, [name]];
      if (!formula[1].every((one) => one in known)) continue;
      fixed[name] = read(formula, known);
      if (!values.includes(fixed[name])) return { why: `${own.name}: ${name} is ${fixed[name]}; it must be ${oneOf(values)}` };
    }
    return { id, fixed };
  }

  return placedByWord;
})();
