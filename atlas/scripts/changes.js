// What changed between two versions: the parts of the versions between them are shown, the others hidden.
"use strict";

(() => {
  const from = document.getElementById("from");
  const to = document.getElementById("to");
  const order = [...from.options].map((option) => option.value);
  const parts = [...document.querySelectorAll("section.version")];

  function show() {
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
    ptxmma.state.write({ from: from.value, to: to.value });
  }

  const state = ptxmma.state.read();
  if (order.includes(state.from)) from.value = state.from;
  if (order.includes(state.to)) to.value = state.to;
  from.addEventListener("change", show);
  to.addEventListener("change", show);
  if (state.from || state.to || !location.hash) show();
})();
