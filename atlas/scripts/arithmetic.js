// The page of arithmetic: what is typed, the steps of one or two instructions, and whether they agree.
"use strict";

(() => {
  const { element, explained, numbers } = ptxmma;
  const data = ptxmma.data.sums;
  const by = (id) => document.getElementById(id);
  const most = 40; // mnemonics that are offered
  const fields = { m: "mnemonic-0", n: "mnemonic-1", a: "a", b: "b", c: "c", sa: "sa", sb: "sb", target: "target" };
  const mnemonics = data.sets.flatMap((set) => Object.values(set.mnemonics).flat()).sort();

  const clean = (text) => text.trim().replace(/;\s*$/, "").toLowerCase();

  // Offers mnemonics that have the words of what is typed.
  function offer(place) {
    const words = clean(by(`mnemonic-${place}`).value).split(/[\s.]+/).filter(Boolean);
    const near = mnemonics.filter((name) => words.every((word) => name.includes(word))).slice(0, most);
    by(`mnemonics-${place}`).replaceChildren(...near.map((value) => element("option", { value })));
  }

  function answer(mnemonic, written, scales, target) {
    const said = explained.explain(data, mnemonic, written, undefined, scales, target);
    if (said.why && data.measured.includes(target) && !explained.found(data, mnemonic)) {
      const count = mnemonics.filter((name) => name.includes(mnemonic)).length;
      if (count) return { why: `${mnemonic} is not a whole mnemonic: ${count} have it as a part` };
    }
    return said;
  }

  function verdict(said) {
    if (said.length < 2 || said.some((one) => one.why)) return "";
    const [x, y] = said.map((one) => one.value);
    if (numbers.same(x, y)) return "D is the same number by both.";
    if (!numbers.isNumber(x) || !numbers.isNumber(y)) return "D differs.";
    return `D differs: the first minus the second is ${numbers.text(numbers.plus(x, numbers.negative(y)))}.`;
  }

  function show() {
    const state = Object.fromEntries(Object.entries(fields).map(([key, id]) => [key, by(id).value]));
    const written = { a: state.a, b: state.b, c: state.c };
    const asked = [clean(state.m), clean(state.n)].filter((mnemonic, place) => mnemonic || !place);
    const said = asked.map((mnemonic) => answer(mnemonic, written, [Number(state.sa), Number(state.sb)], state.target));
    by("verdict").textContent = verdict(said);
    by("steps").replaceChildren(...said.map((one, place) => (one.why
      ? element("p", { class: "bad" }, `${["First", "Second"][place]}: ${one.why}.`)
      : element("pre", { tabindex: "0", role: "region", "aria-label": `Steps of the ${["first", "second"][place]} instruction` }, one.text))));
    offer(0);
    offer(1);
    return state;
  }

  // Without an instruction in the address the example stands there.
  function read() {
    const given = ptxmma.state.read();
    const state = { sa: "1", sb: "1", target: data.target, ...(given.m ? given : data.example) };
    for (const [key, id] of Object.entries(fields)) by(id).value = state[key] ?? "";
    show();
  }

  by("product").addEventListener("submit", (event) => event.preventDefault());
  by("product").addEventListener("input", () => ptxmma.state.step(show()));
  ptxmma.state.heed(() => {
    read();
    if (!by("product").contains(document.activeElement)) by("mnemonic-0").focus();
  });
  read();
})();
