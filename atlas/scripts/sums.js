// A sum of products on a chip, stage by stage, by the formulas of the specification on BigInts. No page is needed.
"use strict";

ptxmma.sums = (() => {
  const fromC = -1; // an addend that is C; others are zero, or the sum of an earlier block by its number
  const compiled = new WeakMap();

  // The formulas of a stage, as a function that gives a scope their names.
  function stageOf(stage) {
    if (!compiled.has(stage)) {
      const lines = Object.entries(stage.let).map(([name, text]) => `s.${name} = BigInt(${text});`);
      compiled.set(stage, new Function("s", lines.join("\n")));
    }
    return compiled.get(stage);
  }

  const big = (values) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, BigInt(value)]));
  const prefixed = (prefix, values) => Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}_${name}`, value]));

  // Every name that the stages give for one block: of its terms (products, then addends), and of its sum.
  function blockSteps(data, types, block, products, addends) {
    const { stages, offset } = data.models[block.model];
    const names = { ...big(block.names), offset: BigInt(offset) };
    const fixed = { ...names };
    for (const [part, type] of [["a", types.A], ["b", types.B], ["d", block.result]]) {
      Object.assign(fixed, prefixed(part, big(data.types[type].constants)));
    }
    const all = (scope, each) => stages.filter((stage) => stage.each === each).forEach((stage) => stageOf(stage)(scope));
    const known = new Map();
    const element = (part, type, { code, negated }) => {
      const key = `${part} ${type} ${code} ${negated}`;
      if (!known.has(key)) {
        const scope = { ...names, ...big(data.types[type].constants), code, negated: BigInt(negated) };
        all(scope, "element");
        for (const name of Object.keys(names)) delete scope[name];
        known.set(key, prefixed(part, scope));
      }
      return known.get(key);
    };
    const terms = [];
    for (const [x, y] of products) {
      const scope = { ...fixed, ...element("a", types.A, x), ...element("b", types.B, y) };
      all(scope, "product");
      terms.push(scope);
    }
    addends.forEach((code, place) => {
      const scope = { ...fixed, ...element("c", block.types[place], { code, negated: false }) };
      all(scope, "addend");
      terms.push(scope);
    });
    const result = { ...fixed };
    for (const stage of stages) {
      if (stage.each === "term") {
        for (const term of terms) stageOf(stage)(Object.assign(term, result));
        if (!stage.reduce) continue;
        const taken = stage.reduce === "greatest" ? (x, y) => (x > y ? x : y) : (x, y) => x + y;
        for (const name of Object.keys(stage.let)) result[name] = terms.map((term) => term[name]).reduce(taken);
      } else if (stage.each === "result") stageOf(stage)(result);
    }
    return { block, addends, terms, result, code: result.code };
  }

  // Every block of a set of types, in order; elements are { code, negated }.
  function steps(data, set, a, b, c) {
    const found = [];
    for (const block of set.blocks) {
      const addends = block.addends.map((number) => (number === fromC ? c : number < 0 ? 0n : found[number].code));
      found.push(blockSteps(data, set.types, block, block.products.map((i) => [a[i], b[i]]), addends));
    }
    return found;
  }

  return { steps, fromC };
})();
