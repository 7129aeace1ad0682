// The page of litmus tests: find one, see its verdict, schedules, readings, and what each ptxas does with it.
"use strict";

(() => {
  const { element } = ptxmma;
  const at = (id) => document.getElementById(id);
  const SHOWN = 200;

  function link(name, test) {
    const rules = [...new Set((test.hazards || []).map(([rule]) => rule))].join(", ") || "defined";
    return element("li", {},
      element("a", { href: `#test=${encodeURIComponent(name)}` }, element("code", {}, name)),
      `: ${test.title} (${rules})`);
  }

  function find(data, words) {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const found = Object.entries(data.tests).filter(([name, test]) => {
      const text = [name, test.title, test.source, ...(test.hazards || []).map(([rule]) => rule)].join(" ").toLowerCase();
      return wanted.every((word) => text.includes(word));
    });
    at("tests").replaceChildren(...found.slice(0, SHOWN).map(([name, test]) => link(name, test)));
    const shown = Math.min(SHOWN, found.length);
    at("count").textContent = `${shown} of ${found.length} that match; ${Object.keys(data.tests).length} tests in all`;
  }

  function reactions(data, test) {
    if (!test.ptxas) return "not recorded for the test as it is today";
    const said = new Map();
    test.ptxas.forEach((kind, number) => said.set(kind, [...(said.get(kind) || []), data.releases[number]]));
    return [...said].map(([kind, releases]) => `${kind}: ${releases.join(", ")}`).join("; ");
  }

  function show(data, name) {
    const test = Object.hasOwn(data.tests, name) ? data.tests[name] : null;
    at("test").hidden = !test;
    if (!test) return;
    at("test-name").textContent = name;
    at("test-title").replaceChildren(`${test.title} (`, ...ptxmma.cited(test.source), ")");
    at("test-verdict").textContent = `${test.hazards ? "undefined" : "defined"}: ${test.why || ""}`;
    at("test-hazards").replaceChildren(...(test.hazards || []).map(([rule, steps]) =>
      element("li", {}, element("a", { href: `#${rule}` }, element("code", {}, rule)),
        ` at ${steps.join(", ")}: ${data.rules[rule][0]}; ${data.rules[rule][1]}`)));
    at("test-steps").replaceChildren(element("ol", { start: 0, class: "code" }, test.steps.map((step) => element("li", {}, step))));
    at("test-schedules").replaceChildren(...(test.schedules ? [element("h3", {}, "Two schedules"), ptxmma.stepper(test.events, test.schedules)] : []));
    const under = Object.entries(test.under || {});
    at("test-under").replaceChildren(...(under.length ? under : [["every other setting", null]]).map(([setting, rules]) =>
      element("li", {}, element("code", {}, setting), `: ${rules === null ? "the same" : rules.join(", ") || "defined"}`)));
    at("test-ptxas").textContent = reactions(data, test);
    at("test-name").focus();
    at("test").scrollIntoView();
  }

  async function follow() {
    const state = ptxmma.state.read();
    if (state.test) show(await ptxmma.load("litmus"), state.test);
    if (state.words) {
      at("words").value = state.words;
      find(await ptxmma.load("litmus"), state.words);
      at("find-tests").scrollIntoView();
    }
  }

  at("words").addEventListener("input", async () => {
    find(await ptxmma.load("litmus"), at("words").value);
    ptxmma.state.write({ words: at("words").value });
  });
  at("find-tests").addEventListener("submit", (event) => event.preventDefault());
  ptxmma.state.heed(follow);
  follow();
})();
