// The first page: judges the statement in the box, or lists the mnemonics that a part of one means.
"use strict";

ptxmma.search = (() => {
  const LONGEST = 20000; // characters; a statement of 255 registers has some 3000
  const LISTED = 50;
  const EXAMPLE = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd0, %rd1, 1, 1, 1, 0, 0;";
  const { element } = ptxmma;
  const { strip, words, counted } = ptxmma.texts;
  const TONES = { legal: "good", illegal: "bad", unknown: "open" };
  let specification = null;

  function opened() {
    specification ||= new ptxmma.legality.Specification(ptxmma.data.legality);
    return specification;
  }

  // What is shown for a text: elements.
  function shown(text, ptx, target, idesc = "") {
    if (!strip(text)) return [];
    if (text.length > LONGEST) {
      const said = `This text has ${text.length.toLocaleString("en")} characters; a statement has far fewer. Paste one statement.`;
      return [element("p", { class: "bad" }, said)];
    }
    if (ptxmma.inlineAsm.isSource(text)) return inline(text, ptx, target);
    const alone = words(text).length === 1 && !strip(text).endsWith(";");
    const listed = alone ? opened().matching(text) : [];
    if (listed.length) return list(strip(text), listed, ptx, target);
    return ptxmma.pages.areWords(text) ? pages(text, ptx, target, idesc) : verdict(text, ptx, target, idesc);
  }

  // The pages that words are about; the verdict on them where there is none.
  function pages(text, ptx, target, idesc) {
    const place = element("div", {});
    ptxmma.load("pages").then((index) => {
      const lists = [["In the explorer", ptxmma.pages.places(index, text)], ["Pages about it", ptxmma.pages.find(index, text)]].filter(([, found]) => found.length);
      place.replaceChildren(...(lists.length ? lists.flatMap(([title, found]) => [element("h2", {}, title), links(found)])
        : verdict(text, ptx, target, idesc).filter((one) => one)));
    });
    return [place];
  }

  const links = (found) => element("ul", {}, found.map(({ title, path, of }) => element("li", {}, element("a", { href: path }, title), of ? element("span", { class: "faint" }, ` ${of}`) : null)));

  function verdict(text, ptx, target, idesc) {
    const judge = opened().judge(ptx, target);
    const word = strip(idesc);
    return answered(word ? ptxmma.described.answer(judge, ptxmma.data.descriptors, text, word, ptx, target) : judge.answer(text), ptx, target);
  }

  // What inline assembly of C++ says: a verdict on each statement that the specification judges.
  function inline(text, ptx, target) {
    const found = ptxmma.inlineAsm.answers(opened().judge(ptx, target), text, ptxmma.data.inline.constraints);
    if (!found.length) return [element("p", { class: "bad" }, "This is C++ without a statement of PTX in a string.")];
    return found.flatMap(({ statement, ...answer }) => [element("pre", { tabindex: 0 }, statement), ...answered(answer, ptx, target)]);
  }

  // An answer of the judge as elements.
  function answered(answer, ptx, target) {
    if (answer.why) return [element("p", { class: "bad" }, answer.why)];
    return [
      element("h2", {}, element("span", { class: TONES[answer.verdict] }, answer.verdict), ` ${where(ptx, target)}`),
      answer.ptx && element("p", {}, linked(opened().variantOf(answer.ptx), ptx, target)),
      answer.row && element("p", {}, `Row ${answer.row}, since PTX ISA ${answer.since}`, operandsOf(answer)),
      reasons(answer.reasons),
      ...answer.notes.map((note) => element("p", {}, `Note: ${note}`)),
      answer.idesc && wordLine(answer.idesc, ptx, target),
      ...nearest(answer.nearest),
    ];
  }

  // What the word of an instruction descriptor says, with the way to its fields.
  function wordLine({ name, descriptor, word, fields, settings, reasons: refused }, ptx, target) {
    const { hex, says } = ptxmma.descriptors;
    const state = new URLSearchParams(Object.entries({ descriptor: name, word: hex(descriptor, word), ptx, target, ...settings }).filter(([, value]) => value !== ""));
    const said = refused.length ? [] : Object.entries(says(descriptor, fields, settings)).map(([key, value]) => `${key} = ${value}`);
    return element("p", {}, "Descriptor ", element("a", { class: "code", href: `descriptors.html#${state}` }, `${name} ${hex(descriptor, word)}`),
      said.length ? `: ${said.join(", ")}` : "");
  }

  // Whether a text is a statement that takes an instruction descriptor.
  function isDescribed(text, ptx, target) {
    if (!strip(text) || text.length > LONGEST || ptxmma.inlineAsm.isSource(text)) return false;
    const { variant, form } = opened().judge(ptx, target).judge(text);
    return Boolean(variant && ptxmma.described.operandOf(variant, form));
  }

  // A mnemonic that leads to the page of its instruction, under the same version and target.
  const linked = (variant, ptx, target) => element("a", {
    class: "code",
    href: `${variant.row.family.record.page}#${new URLSearchParams({ mnemonic: variant.mnemonic, ...(ptx && { ptx }), ...(target && { target }) })}`,
  }, variant.mnemonic);

  const where = (ptx, target) => {
    const version = ptx || ptxmma.data.legality.isa;
    return `under PTX ISA ${version} ${target ? `on ${target}` : "on any target"}`;
  };

  const operandsOf = (answer) => {
    if (!answer.operands) return null;
    return answer.operands.length ? [", operands ", element("code", {}, answer.operands.join(", "))] : ", no operands";
  };

  const reasons = (found) => found.length ? element("ul", { class: "reasons" }, found.map((one) =>
    element("li", {}, element("code", {}, one.code), `: ${one.message}`))) : null;

  function nearest(form) {
    if (!form) return [];
    return [
      element("h3", {}, "Nearest legal form"),
      element("pre", { tabindex: 0 }, form),
      element("button", { type: "button", onclick: () => ask(statementOf(form)) }, "Put it into the box"),
    ];
  }

  // A form as a statement: registers, declared in front of it, in place of the operands' names.
  function statementOf(text) {
    const [mnemonic] = words(text.replace(/;$/, ""));
    const variant = opened().variantOf(mnemonic);
    const spelled = (form) => `${mnemonic} ${form.operands.map((name) => ptxmma.operands.written(variant, name)).join(", ")}`.trim();
    const form = variant && variant.forms.find((one) => `${spelled(one)};` === text);
    return form ? ptxmma.paste.ptx(variant, form) : text;
  }

  // The mnemonics that a text means; its own verdict above, where it is one of them.
  function list(text, listed, ptx, target) {
    const judge = opened().judge(ptx, target);
    const whole = judge.judgeMnemonic(text).variant;
    const count = listed.length;
    const first = count > LISTED ? `; the first ${LISTED}` : "";
    const rows = listed.slice(0, LISTED).map((variant) => {
      const named = judge.judgeMnemonic(variant.mnemonic);
      return element("tr", {},
        element("td", {}, element("button", { type: "button", class: "plain", onclick: () => ask(variant.mnemonic) }, variant.mnemonic)),
        element("td", { class: TONES[named.verdict] }, named.verdict),
        element("td", {}, gate(variant.gate)));
    });
    return [
      whole && mnemonicVerdict(judge, text, whole, ptx, target),
      element("h2", {}, `${counted(count, "mnemonic")} ${where(ptx, target)}${first}`),
      element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Mnemonics" }, element("table", {},
        element("thead", {}, element("tr", {}, ["Mnemonic", "Verdict", "Versions and targets"].map((name) => element("th", { scope: "col" }, name)))),
        element("tbody", {}, rows))),
    ];
  }

  function mnemonicVerdict(judge, text, variant, ptx, target) {
    const named = judge.judgeMnemonic(text);
    const forms = variant.forms.map((form) =>
      `${variant.mnemonic} ${form.operands.map((name) => ptxmma.operands.written(variant, name)).join(", ")}`.trim());
    return element("div", {},
      element("h2", {}, element("span", { class: TONES[named.verdict] }, named.verdict), ` ${where(ptx, target)}`),
      element("p", {}, linked(variant, ptx, target), `: row ${variant.row.id}, ${gate(variant.gate)}`),
      reasons(named.reasons),
      named.notes.map((note) => element("p", {}, `Note: ${note}`)),
      element("pre", { tabindex: 0 }, forms.map((form) => `${form};`).join("\n")));
  }

  function gate({ since, deprecated, removed, targets }) {
    const { versionText } = ptxmma.rows;
    const names = [...targets.keys()];
    const on = names.slice(0, 3).join(", ") + (names.length > 3 ? ` … ${names[names.length - 1]}` : "");
    const old = deprecated && (removed === null || deprecated < removed) ? `, deprecated ${versionText(deprecated)}` : "";
    return `since ${versionText(since)}${old}${removed ? `, removed ${versionText(removed)}` : ""}; ${on}`;
  }

  // Put a text into the box and answer it.
  function ask(text) {
    document.getElementById("statement").value = text;
    answer();
    document.getElementById("statement").focus();
  }

  const fields = () => ["statement", "ptx", "target", "idesc"].map((name) => document.getElementById(name));

  // A module's head above a statement is read as the choice of version and target, and leaves the box.
  function readHead() {
    const [statement, ptx, target] = fields();
    const selects = [ptx, target];
    const read = ptxmma.moduleHead(statement.value);
    const chosen = [read.version, read.target];
    const known = (select, value) => !value || [...select.options].some((option) => option.value === value);
    if (!read.found || !strip(read.rest) || !selects.every((select, i) => known(select, chosen[i]))) return;
    statement.value = read.rest;
    selects.forEach((select, i) => { if (chosen[i]) select.value = chosen[i]; });
  }

  function answer(say = ptxmma.state.step) {
    readHead();
    const [statement, ptx, target, idesc] = fields();
    if (idesc.value && !ptxmma.data.descriptors) {
      ptxmma.load("descriptors").then(() => answer(say));
      return;
    }
    const place = document.getElementById("answer");
    place.replaceChildren(...shown(statement.value, ptx.value, target.value, idesc.value).filter((one) => one));
    document.getElementById("described").hidden = !idesc.value && !isDescribed(statement.value, ptx.value, target.value);
    const kept = statement.value.length > LONGEST ? "" : statement.value;
    say({ q: kept, ptx: ptx.value, target: target.value, idesc: idesc.value });
  }

  // What the address asks.
  function read() {
    const [statement, ptx, target, idesc] = fields();
    const state = { ...Object.fromEntries(new URLSearchParams(location.search)), ...ptxmma.state.read() };
    statement.value = state.q || "";
    idesc.value = state.idesc || "";
    for (const [select, value] of [[ptx, state.ptx], [target, state.target]]) {
      select.value = [...select.options].some((option) => option.value === value) ? value : "";
    }
    answer(ptxmma.state.write);
  }

  function start() {
    const [statement, ptx, target, idesc] = fields();
    statement.placeholder = EXAMPLE;
    let waiting = 0;
    for (const box of [statement, idesc]) {
      box.addEventListener("input", () => {
        clearTimeout(waiting);
        waiting = setTimeout(() => answer(), 80);
      });
    }
    for (const select of [ptx, target]) select.addEventListener("change", () => answer());
    document.getElementById("ask").addEventListener("submit", (event) => event.preventDefault());
    const elsewhere = location.search !== ""; // it was asked in the box of some page's head
    read();
    ptxmma.state.heed(read);
    if (statement.value && elsewhere) document.getElementById("answer").focus();
    if (!statement.value) setTimeout(() => shown("mma", "", "")); // what is made once is made before somebody types
  }

  document.addEventListener("DOMContentLoaded", start);
  return { shown, ask };
})();
