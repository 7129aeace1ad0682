// The register, filtered: an entry is shown where everybody who is ticked says something in it, with all the words.
"use strict";

(() => {
  const entries = [...document.querySelectorAll("details.entry")];
  const boxes = [...document.querySelectorAll("input[name=who]")];
  const words = document.getElementById("words");
  const texts = new Map(entries.map((entry) => [entry, entry.textContent.toLowerCase()]));

  function show(say = ptxmma.state.step) {
    const who = boxes.filter((box) => box.checked).map((box) => box.value);
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const entry of entries) {
      const said = entry.dataset.who.split(" ");
      entry.hidden = !who.every((one) => said.includes(one)) || !wanted.every((word) => texts.get(entry).includes(word));
      count += !entry.hidden;
    }
    document.getElementById("count").textContent = `${count} of ${entries.length} entries`;
    say({ who: who.join(" "), words: words.value });
  }

  function read() {
    const state = ptxmma.state.read();
    words.value = state.words || "";
    for (const box of boxes) box.checked = (state.who || "").split(" ").includes(box.value);
    show(ptxmma.state.write);
  }

  const opened = document.getElementById(location.hash.slice(1));
  if (opened) {
    opened.open = true;
    opened.scrollIntoView();
    document.getElementById("count").textContent = `${entries.length} entries`;
  } else {
    read();
  }
  ptxmma.state.heed(read);
  document.getElementById("filter").addEventListener("input", () => show());
  document.getElementById("filter").addEventListener("submit", (event) => event.preventDefault());
})();
