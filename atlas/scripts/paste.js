// A form to paste: as PTX with its registers declared, and as inline assembly of CUDA C++. No DOM.
"use strict";

ptxmma.paste = (() => {
  // By type of a register: the letter of inline assembly, and the type of the C++ variable.
  const LETTERS = [
    [/^f32$/, "f", "float"],
    [/^f64$/, "d", "double"],
    [/64$/, "l", "uint64_t"],
    [/(32|x2|x4)$/, "r", "uint32_t"],
    [/16$/, "h", "uint16_t"],
  ];
  const letterOf = (type) => LETTERS.find(([pattern]) => pattern.test(type));
  const plain = (name) => name.replace(/\W+/g, "_");

  // An operand's registers: their type and number, how they are written around names, and its role; or its text.
  function operandOf(variant, name) {
    const operand = variant.operands[name];
    if (operand.elements) {
      const types = operand.elements.map((one) => variant.registerTypes(one) || []);
      const type = types[0].find((one) => types.every((others) => others.includes(one)));
      return { names: operand.elements.map(plain), type, shape: "vector", role: operand.role };
    }
    const shape = operand.accepts[0];
    if (shape === "immediate") {
      const values = variant.values(operand);
      // Of -1 and 1 the one that negates nothing.
      return { text: String(values.includes(0) || !values.includes(1) ? values[0] ?? 0 : 1) };
    }
    const types = variant.registerTypes(name);
    const type = shape === "address" && (!types || types.includes("b64")) ? "b64" : (types || ["b32"])[0];
    const count = operand.registers === null || shape !== "vector" ? 0 : Math.max(variant.evaluate(operand.registers), 1);
    return { name: plain(name), count, type, shape, role: operand.role };
  }

  const shaped = (shape, names) => ({
    vector: `{${names.join(", ")}}`, address: `[${names[0]}]`, negated: `!${names[0]}`,
  })[shape] || names[0];

  // The statement with registers that are declared before it.
  function ptx(variant, form) {
    const lines = [];
    const texts = form.operands.map((name) => {
      const one = operandOf(variant, name);
      if (one.text !== undefined) return one.text;
      if (one.names) {
        lines.push(`.reg .${one.type} ${one.names.map((inner) => `%${inner}`).join(", ")};`);
        return shaped("vector", one.names.map((inner) => `%${inner}`));
      }
      lines.push(`.reg .${one.type} %${one.name}${one.count ? `<${one.count}>` : ""};`);
      const names = one.count ? Array.from({ length: one.count }, (_, i) => `%${one.name}${i}`) : [`%${one.name}`];
      return shaped(one.shape, names);
    });
    return [...new Set(lines), `${`${variant.mnemonic} ${texts.join(", ")}`.trim()};`].join("\n");
  }

  // The statement as inline assembly, with C++ variables named like the operands.
  function cuda(variant, form) {
    const found = form.operands.map((name) => operandOf(variant, name));
    const variables = [];
    const places = []; // { constraint, value, written }
    const predicates = [];
    const texts = found.map((one) => {
      if (one.text !== undefined) return one.text;
      const predicate = one.type === "pred";
      const [, letter, type] = predicate ? [null, "r", "uint32_t"] : letterOf(one.type) || [null, "r", "uint32_t"];
      const names = one.names || (one.count ? Array.from({ length: one.count }, (_, i) => `${one.name}[${i}]`) : [one.name]);
      variables.push(one.names ? `${type} ${one.names.join(", ")};` : `${type} ${one.name}${one.count ? `[${one.count}]` : ""};`);
      const marks = names.map((value) => {
        const sign = { destination: "=", both: "+" }[one.role] || "";
        const place = { constraint: sign + letter, value, written: sign !== "" };
        places.push(place);
        return place;
      });
      if (!predicate) return { shape: one.shape, marks };
      predicates.push({ name: one.name, mark: marks[0] });
      return shaped(one.shape, [one.name]);
    });
    const ordered = [...places.filter((one) => one.written), ...places.filter((one) => !one.written)];
    const number = (mark) => `%${ordered.indexOf(mark)}`;
    const operands = texts.map((one) => (typeof one === "string" ? one : shaped(one.shape, one.marks.map(number))));
    const body = [
      ...predicates.flatMap(({ name, mark }) => [`.reg .pred ${name};`, `setp.ne.b32 ${name}, ${number(mark)}, 0;`]),
      `${`${variant.mnemonic} ${operands.join(", ")}`.trim()};`,
    ];
    const lines = (predicates.length ? ["{", ...body, "}"] : body).map((line) => `    "${line}\\n"`);
    const listed = (wanted) => ordered.filter((one) => one.written === wanted)
      .map((one) => `"${one.constraint}"(${one.value})`).join(", ");
    const constraints = [`    : ${listed(true)}`, `    : ${listed(false)}`, '    : "memory"'].map((line) => line.trimEnd());
    return [...new Set(variables), "asm volatile(", ...lines, ...constraints, ");"].join("\n");
  }

  return { ptx, cuda };
})();
