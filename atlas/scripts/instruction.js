// The page of an instruction: the form builder, what to paste, and what each assembler said of the chosen form.
"use strict";

(() => {
  const { element } = ptxmma;
  const by = (id) => document.getElementById(id);
  const SELECTED = 12; // options of a slot beyond which they stand in a list
  const shown = (option) => (option ? `.${option}` : "(none)");
  let builder = null;
  let variant = null;
  let formNumber = 0;

  const judge = () => builder.specification.judge(by("ptx").value, by("target").value);

  function start() {
    const { instruction } = by("builder").dataset;
    builder = new ptxmma.builder.Builder(new ptxmma.legality.Specification(ptxmma.data.legality), instruction);
    read();
    ptxmma.state.heed(read);
    for (const name of ["ptx", "target"]) by(name).addEventListener("change", () => show(""));
  }

  function read() {
    const state = ptxmma.state.read();
    for (const name of ["ptx", "target"]) {
      if ([...by(name).options].some((option) => option.value === (state[name] || ""))) by(name).value = state[name] || "";
    }
    variant = builder.byName.get(state.mnemonic) || builder.first(judge());
    formNumber = Number(state.form) || 0;
    show("", false);
  }

  function show(said, write = true) {
    by("said").textContent = said;
    by("slots").replaceChildren(...builder.slots.map(slotOf));
    const forms = variant.forms;
    const form = forms[formNumber] || forms[0];
    by("chosen").replaceChildren(...chosen(form, forms));
    const answers = ptxmma.asked.answers(ptxmma.data.assemblers, ptxmma.data[by("builder").dataset.asked], variant, form);
    by("verdicts").replaceChildren(...verdicts(answers));
    if (write) {
      const form = formNumber || "";
      ptxmma.state.step({ mnemonic: variant.mnemonic, form, ptx: by("ptx").value, target: by("target").value });
    }
  }

  // A slot: its options, of which those that do not go with the others are greyed and say why.
  function slotOf(slot) {
    const now = builder.tokens.get(variant)[slot.name];
    const possible = (option) => builder.with(judge(), variant, slot.name, option);
    if (slot.options.length > SELECTED) {
      const options = slot.options.map((option) => element("option", { value: option, selected: option === now },
        shown(option) + (possible(option) || option === now ? "" : " (not with the others)")));
      return element("div", { class: "controls" }, element("label", {}, slot.name,
        element("select", { onchange: (event) => take(slot.name, event.target.value) }, options)));
    }
    const buttons = slot.options.map((option) => {
      const open = option === now || possible(option);
      const explain = ({ currentTarget }) => {
        currentTarget.title = builder.why(judge(), variant, slot.name, option);
        currentTarget.setAttribute("aria-description", currentTarget.title);
      };
      return element("button", {
        type: "button", "data-slot": slot.name, "data-option": option, "aria-pressed": String(option === now),
        class: open ? "" : "impossible",
        onclick: () => take(slot.name, option), ...(open ? {} : { onpointerenter: explain, onfocus: explain }),
      }, shown(option), open ? null : element("span", { class: "hidden" }, " (not with the others)"));
    });
    return element("fieldset", {}, element("legend", {}, slot.name), buttons);
  }

  // Take an option; where it does not go with the others, the nearest form that has it, and say why.
  function take(slot, option) {
    const next = builder.with(judge(), variant, slot, option);
    if (next) {
      variant = next;
      show("");
    } else {
      const why = builder.why(judge(), variant, slot, option);
      const near = builder.nearest(judge(), variant, slot, option);
      if (near) variant = near;
      const what = near ? "The nearest form that has it is chosen." : "No form that is legal here has it.";
      show(`${shown(option)} does not go with the others: ${why}. ${what}`);
    }
    const again = document.querySelector(`[data-slot="${slot}"][data-option="${CSS.escape(option)}"]`);
    if (again) again.focus({ preventScroll: true }); // who chose it sees it; to scroll would lay out the page twice
  }

  function chosen(form, forms) {
    const named = judge().judgeMnemonic(variant.mnemonic);
    const legal = named.verdict === "legal";
    const links = Object.entries(variant.row.record.layouts).filter(([, id]) => id && id !== "opaque");
    return [
      element("pre", { tabindex: 0, id: "mnemonic" }, variant.mnemonic),
      element("p", {}, element("span", { class: legal ? "good" : "bad" }, named.verdict), `, row `,
        element("a", { href: `#row-${variant.row.record.id}`, onclick: () => { by(`row-${variant.row.record.id}`).open = true; } }, variant.row.record.id)),
      named.reasons.length ? element("ul", { class: "reasons" }, named.reasons.map((one) => element("li", {}, element("code", {}, one.code), `: ${one.message}`))) : null,
      forms.length > 1 ? element("fieldset", {}, element("legend", {}, "operands"), forms.map((one, number) => element("button", {
        type: "button", "aria-pressed": String(one === form), onclick: () => { formNumber = number; show(""); },
      }, one.operands.join(", ")))) : null,
      links.length ? element("p", {}, "Layouts: ", links.map(([operand], i) => [i ? ", " : "",
        element("a", { href: `../layouts.html#${new URLSearchParams({ mnemonic: variant.mnemonic, operand })}` }, operand)])) : null,
      described(form),
      ...pasted("PTX", ptxmma.paste.ptx(variant, form)),
      ...pasted("CUDA", ptxmma.paste.cuda(variant, form)),
    ].filter((one) => one);
  }

  // The ways to the descriptors that the operands of a form are, and to what their word places in tensor memory.
  function described(form) {
    const word = ptxmma.described.nameOf(variant, form);
    const links = form.operands.flatMap((name) => {
      const operand = variant.operands[name];
      const descriptor = operand.word ? word : operand.shared;
      return descriptor ? [element("a", { href: `../descriptors.html#${new URLSearchParams({ descriptor })}` }, `${name}: ${descriptor}`)] : [];
    });
    const placed = word ? [". ", element("a", { href: `../layouts.html#${new URLSearchParams({ mnemonic: variant.mnemonic })}` }, "In tensor memory")] : [];
    return links.length ? element("p", {}, "Descriptors: ", links.map((one, i) => [i ? ", " : "", one]), placed) : null;
  }

  const pasted = (what, text) => [
    element("h3", {}, what),
    element("pre", { tabindex: 0, id: `paste-${what}` }, text),
    element("button", { type: "button", onclick: () => copy(text) }, `Copy the ${what}`),
  ];

  function copy(text) {
    const said = (words) => { by("said").textContent = words; };
    if (!navigator.clipboard) said("This browser lets no page copy; select the text.");
    else navigator.clipboard.writeText(text).then(() => said("Copied."), () => said("This browser lets no page copy; select the text."));
  }

  // The tables: version by target, and release by release.
  function verdicts(answers) {
    const cells = ptxmma.asked.table(answers);
    const rows = [...cells].filter(([, row]) => [...row.values()].some((cell) => cell.legal || cell.accepted.length));
    const { version } = ptxmma.rows;
    const versions = [...new Set(rows.flatMap(([, row]) => [...row.keys()]))].sort((a, b) => version(a) - version(b));
    const shownRows = rows.map(([target, row]) => element("tr", {}, element("th", { scope: "row" }, target), versions.map((ptx) => cellOf(row.get(ptx)))));
    return [
      element("p", {}, "● accepted, · refused, as the specification says; ≠ not as it says; empty: no release takes that version and target. ",
        `Targets that are not here refuse it under every version (${cells.size - rows.length}).`),
      scrolled("Versions and targets", ["Target", ...versions], shownRows),
      scrolled("Releases of ptxas", ["ptxas", "Asked", "Accepted", "Refused", "Not as the specification says"], answers.map(releaseOf)),
    ];
  }

  function cellOf(cell) {
    if (!cell) return element("td");
    const differs = (cell.legal ? cell.refused : cell.accepted).length;
    const said = [cell.accepted.length && `accepted by ${cell.accepted.join(", ")}`, cell.refused.length && `refused by ${cell.refused.join(", ")}`].filter((one) => one).join("; ");
    return element("td", { title: said, class: differs ? "bad" : cell.legal ? "good" : "faint" }, element("span", { "aria-hidden": "true" }, differs ? "≠" : cell.legal ? "●" : "·"),
      element("span", { class: "hidden" }, differs ? "differs" : cell.legal ? "accepted" : "refused"));
  }

  function releaseOf({ release, settings }) {
    const accepted = settings.filter((one) => one.accepted).length;
    const differing = settings.filter((one) => one.accepted !== one.legal);
    const where = differing.slice(0, 3).map((one) => `${one.ptx} ${one.target}`).join(", ");
    const said = differing.length ? `${differing.length}: ${where}${differing.length > 3 ? " …" : ""}` : "0";
    const cells = settings.length ? [settings.length, accepted, settings.length - accepted, said] : ["not asked", "", "", ""];
    return element("tr", {}, element("th", { scope: "row" }, release), cells.map((one) => element("td", {}, String(one))));
  }

  const scrolled = (name, heads, rows) => element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name },
    element("table", {}, element("thead", {}, element("tr", {}, heads.map((one) => element("th", { scope: "col" }, one)))), element("tbody", {}, rows)));

  document.addEventListener("DOMContentLoaded", start);
})();
