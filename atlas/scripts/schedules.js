// Two schedules of one program side by side, stepped through together; what differs first is marked.
"use strict";

// The first place at which two schedules differ; their length where they do not.
ptxmma.firstDifference = function (one, other) {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  return at;
};

// A stepper: two ordered lists, and buttons that move one mark through both.
ptxmma.stepper = function (events, schedules) {
  const { element } = ptxmma;
  const differs = ptxmma.firstDifference(schedules[0], schedules[1]);
  const lists = schedules.map((schedule, number) =>
    element("ol", { class: "schedule", start: 1, "aria-label": number ? "another schedule" : "one schedule" },
      schedule.map((event, at) => element("li", { class: at === differs ? "differs" : null }, events[event]))));
  const said = element("p", { role: "status" });
  let at = 0;

  function show() {
    for (const list of lists) {
      [...list.children].forEach((item, number) => {
        item.classList.toggle("done", number < at);
        item.classList.toggle("now", number === at);
      });
    }
    const [here, there] = schedules.map((schedule) => events[schedule[at]] ?? "the end");
    said.textContent = here === there ? `${at + 1}: both: ${here}` : `${at + 1}: one: ${here}; the other: ${there}`;
  }

  function move(by) {
    at = Math.max(0, Math.min(schedules[0].length - 1, at + by));
    show();
  }

  const made = element("div", { class: "stepper", tabindex: 0, "aria-label": "two schedules; left and right arrow keys step" },
    element("div", { class: "controls" },
      element("button", { type: "button", onclick: () => move(-1) }, "← back"),
      element("button", { type: "button", onclick: () => move(1) }, "step →"),
      element("button", { type: "button", onclick: () => move(differs - at) }, "to the first difference")),
    said,
    element("div", { class: "beside" }, lists));
  made.addEventListener("keydown", (event) => {
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      event.preventDefault();
      move(event.key === "ArrowRight" ? 1 : -1);
    }
  });
  show();
  return made;
};
