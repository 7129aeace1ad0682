// What changed between two versions: the parts of the versions between them are shown, the others hidden.
"use strict";

(() => {
  const from = document.getElementById("from");
  const to = document.getElementById("to");
  const order = [...from.options].map((option) => option.value);
  const parts = [...document.querySelectorAll("section.version")];

  function show(say = ptxmma.state.step) {
    const [low, high] = [order.indexOf(from.value), order.indexOf(to.value)].sort((a, b) => a - b);
    const back = order.indexOf(from.value) > order.indexOf(to.value);
    const shown = parts.filter((part) => {
      const at = order.indexOf(part.dataset.version);
      part.hidden = at <= low || at > high;
      return !part.hidden;
    });
    const names = shown.map((part) => part.dataset.version).join(", ");
    document.getElementById("between").textContent =
      low === high ? "One version: no difference."
      : back ? `Read backwards: what ${names} brought is not there yet in ${to.value}.`
      : `From ${from.value} to ${to.value}, by the versions between: ${names}.`;
    say({ from: from.value, to: to.value });
  }

  // The versions of the address; the newest two where it names none.
  function read() {
    const state = ptxmma.state.read();
    for (const select of [from, to]) {
      const standing = [...select.options].find((option) => option.defaultSelected).value;
      select.value = order.includes(state[select.id]) ? state[select.id] : standing;
    }
    show(ptxmma.state.write);
  }

  for (const select of [from, to]) select.addEventListener("change", () => show());
  ptxmma.state.heed(read);
  if (!location.hash || location.hash.includes("=")) read();
})();
