// A matrix in a box that scrolls, as a grid of which only the cells that are seen are made; keys and clicks choose one.
"use strict";

ptxmma.matrixCells = function (box, { label, chosen }) {
  const { element } = ptxmma;
  const high = 24; // pixels of a row, as the style sheet has them
  const table = element("table", { class: "cells", role: "grid", tabindex: 0, "aria-label": label });
  const sizer = element("div", { class: "sizer" }, table);
  box.replaceChildren(sizer);
  let shown = null;
  let drawn = "";

  // Show a matrix of `rows` x `cols`: `text(r, c)` says a cell, `kind(r, c)` its classes; `wide` is of the longest text.
  function show(matrix) {
    shown = { ...matrix, wide: Math.max(34, 8 * matrix.longest + 12), row: -1, col: -1 };
    shown.head = 8 * `${matrix.rows - 1}`.length + 14;
    table.setAttribute("aria-rowcount", matrix.rows + 1);
    table.setAttribute("aria-colcount", matrix.cols + 1);
    sizer.style.width = `${shown.head + shown.wide * matrix.cols + 1}px`;
    sizer.style.height = `${high * (matrix.rows + 1) + 1}px`;
    [box.scrollLeft, box.scrollTop] = [0, 0];
    drawn = "";
    draw();
  }

  // The first cell that is seen and the one behind the last, of as many as there are.
  const seen = (from, room, size, count) => {
    const first = Math.max(0, Math.min(Math.floor(from / size), count - Math.floor(room / size)));
    return [first, Math.min(count, first + Math.ceil(room / size) + 1)];
  };

  function draw() {
    if (!shown) return;
    const { rows, cols, wide, head, text, kind, row, col } = shown;
    const [top, bottom] = seen(box.scrollTop, box.clientHeight - high, high, rows);
    const [left, right] = seen(box.scrollLeft, box.clientWidth - head, wide, cols);
    const key = [top, bottom, left, right, row, col].join();
    if (key === drawn) return;
    drawn = key;
    table.style.transform = `translate(${left * wide}px, ${top * high}px)`;
    table.style.width = `${head + wide * (right - left)}px`;
    const heads = [`<td aria-colindex="1" style="width:${head}px"></td>`];
    for (let c = left; c < right; c++) heads.push(`<th scope="col" aria-colindex="${c + 2}">${c}</th>`);
    const lines = [];
    for (let r = top; r < bottom; r++) {
      lines.push(`<tr aria-rowindex="${r + 2}"><th scope="row" aria-colindex="1">${r}</th>`);
      for (let c = left; c < right; c++) {
        const now = r === row && c === col;
        lines.push(`<td role="gridcell" aria-colindex="${c + 2}" class="${kind(r, c)}${now ? " now" : ""}"${now ? ` id="${box.id}-now" aria-selected="true"` : ""}>${text(r, c)}</td>`);
      }
      lines.push("</tr>");
    }
    table.innerHTML = `<thead><tr aria-rowindex="1">${heads.join("")}</tr></thead><tbody>${lines.join("")}</tbody>`; // numbers alone
    if (row >= top && row < bottom && col >= left && col < right) table.setAttribute("aria-activedescendant", `${box.id}-now`);
    else table.removeAttribute("aria-activedescendant");
  }

  function choose(row, col) {
    if (row < 0 || col < 0 || row >= shown.rows || col >= shown.cols) return;
    Object.assign(shown, { row, col });
    const { wide, head } = shown;
    box.scrollTop = Math.max(high * (row + 2) - box.clientHeight, Math.min(box.scrollTop, high * row));
    box.scrollLeft = Math.max(head + wide * (col + 1) - box.clientWidth, Math.min(box.scrollLeft, wide * col));
    draw();
    chosen(row, col);
  }

  const steps = {
    ArrowLeft: (r, c) => [r, c - 1], ArrowRight: (r, c) => [r, c + 1], ArrowUp: (r, c) => [r - 1, c], ArrowDown: (r, c) => [r + 1, c],
    Home: (r) => [r, 0], End: (r) => [r, shown.cols - 1], PageUp: (r, c) => [Math.max(0, r - 8), c],
    PageDown: (r, c) => [Math.min(shown.rows - 1, r + 8), c],
  };

  table.addEventListener("keydown", (event) => {
    if (!shown || !(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    choose(...(shown.row < 0 ? [0, 0] : steps[event.key](shown.row, shown.col)));
  });
  table.addEventListener("click", (event) => {
    const cell = event.target.closest('[role="gridcell"]');
    if (cell) choose(cell.parentElement.getAttribute("aria-rowindex") - 2, cell.getAttribute("aria-colindex") - 2);
  });
  box.addEventListener("scroll", draw);
  addEventListener("resize", draw);
  return { show };
};
