// The page of litmus tests: find one, see its verdict, schedules, readings, and what each ptxas does with it.
"use strict";

(() => {
  const { element } = ptxmma;
  const at = (id) => document.getElementById(id);
  const SHOWN = 100;
  // The tests of barriers with phases, which the page has whole.
  const phases = [...document.querySelectorAll("details[id^=phase-]")];
  const written = { tests: [...at("tests").children], count: at("count").textContent };

  function link(name, test, words) {
    const rules = [...new Set((test.hazards || []).map(([rule]) => rule))].join(", ") || "defined";
    return element("li", {},
      element("a", { href: `#${new URLSearchParams({ test: name, words })}` }, element("code", {}, name)),
      `: ${test.title} (${rules})`);
  }

  function phaseLink(details) {
    const [name, ...title] = details.querySelector("summary").textContent.split(":");
    return element("li", {}, element("a", { href: `#${details.id}` }, element("code", {}, name)), `:${title.join(":")}`);
  }

  // What words are looked for in, by test; made once.
  let texts = null;
  function textsOf(data) {
    texts ||= Object.entries(data.tests).map(([name, test]) =>
      [name, test, [name, test.title, test.source, ...(test.hazards || []).map(([rule]) => rule)].join(" ").toLowerCase()]);
    return texts;
  }

  function find(data, words) {
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    const hasAll = (text) => wanted.every((word) => text.includes(word));
    const found = textsOf(data).filter(([, , text]) => hasAll(text));
    const foundPhases = phases.filter((details) => hasAll(details.textContent.toLowerCase()));
    const links = [...foundPhases.map((details) => () => phaseLink(details)), ...found.map(([name, test]) => () => link(name, test, words))];
    at("tests").replaceChildren(...links.slice(0, SHOWN).map((make) => make()));
    const all = Object.keys(data.tests).length + phases.length;
    at("count").textContent = `${Math.min(SHOWN, links.length)} of ${links.length} that match; ${all} tests in all`;
  }

  function findNothing() {
    at("tests").replaceChildren(...written.tests);
    at("count").textContent = written.count;
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

  // The test and the words of the address.
  async function follow() {
    const { test = "", words = "" } = ptxmma.state.read();
    const data = test || words ? await ptxmma.load("litmus") : null;
    const other = at("words").value !== words;
    at("words").value = words;
    if (words) find(data, words);
    else findNothing();
    if (!test) at("test").hidden = true;
    else if (at("test").hidden || at("test-name").textContent !== test) show(data, test);
    if (words && other && !test) at("find-tests").scrollIntoView();
  }

  // A test of phases that the address names is opened.
  function unfold() {
    const named = phases.find(({ id }) => id === location.hash.slice(1));
    if (named) named.open = true;
  }

  at("words").addEventListener("input", async () => {
    const { value } = at("words");
    const data = await ptxmma.load("litmus");
    if (value !== at("words").value) return; // more was typed
    if (value) find(data, value);
    else findNothing();
    ptxmma.state.step({ test: at("test").hidden ? "" : at("test-name").textContent, words: value });
  });
  at("find-tests").addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", unfold);
  ptxmma.state.heed(follow);
  unfold();
  follow();
})();
