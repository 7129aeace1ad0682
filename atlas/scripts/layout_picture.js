// A grid drawn on a canvas in a box that scrolls: only what is seen is drawn; a place is found by arithmetic.
"use strict";

ptxmma.picture = function (box, { data, label, picked }) {
  const { element, grid: grids } = ptxmma;
  const canvas = element("canvas", { "aria-hidden": "true" });
  const spacer = element("div", { class: "spacer" });
  box.classList.add("picture");
  box.tabIndex = 0;
  box.setAttribute("role", "application");
  box.setAttribute("aria-label", label);
  box.replaceChildren(canvas, spacer);
  const pen = canvas.getContext("2d");
  let shown = null;
  let hover = -1;
  const margin = { left: 40, top: 22 };

  function fit(zoom) {
    const inside = box.clientWidth - margin.left - 2;
    const { grid } = shown;
    if (zoom !== "fit") return { wide: Number(zoom), high: Math.max(4, Math.min(22, Number(zoom) / 2.6)) };
    const wide = Math.max(3, Math.min(110, Math.floor((inside / grid.cols) * 4) / 4));
    return { wide, high: Math.max(4, Math.min(22, Math.floor(wide * 1.5))) };
  }

  // Show a grid. `key` colours it; `mine` says which points are marked, `cell` the picked cell.
  function show(grid, { key, zoom, cell, mine }) {
    const resized = !shown || shown.grid !== grid || shown.zoom !== zoom;
    shown = { grid, key, zoom, cell, mine };
    if (resized) {
      pen.font = "11px monospace";
      let longest = 2;
      for (let r = 0; r < grid.rows; r += Math.max(1, grid.rows - 1)) longest = Math.max(longest, grid.rowName(r).length);
      margin.left = Math.ceil(7 * longest + 12);
      const labels = Array.from({ length: Math.min(64, grid.rows * grid.cols) }, (_, n) => grids.label(grid, Math.floor((n * (grid.rows * grid.cols - 1)) / 63 || 0)));
      shown.label = Math.max(...labels.map((text) => text.length)) * 6.7 + 6;
      const size = zoom === "labels" ? { wide: Math.max(26, Math.ceil(shown.label)), high: 22 } : fit(zoom);
      Object.assign(shown, size);
      spacer.style.width = `${margin.left + shown.wide * grid.cols + 2}px`;
      spacer.style.height = `${margin.top + shown.high * grid.rows + 2}px`;
      box.style.height = `${Math.min(margin.top + shown.high * grid.rows + 20, Math.max(320, innerHeight * 0.7))}px`;
      hover = -1;
    } else {
      Object.assign(shown, last);
    }
    last = { wide: shown.wide, high: shown.high, label: shown.label };
    reveal();
    draw();
  }
  let last = {};

  // Scroll so that the picked cell is seen.
  function reveal() {
    if (!shown || shown.cell < 0) return;
    const { grid, wide, high, cell } = shown;
    const [row, col] = [Math.floor(cell / grid.cols), cell % grid.cols];
    const [x, y] = [col * wide, row * high];
    const [seenX, seenY] = [box.clientWidth - margin.left - wide, box.clientHeight - margin.top - high];
    if (x < box.scrollLeft || x > box.scrollLeft + seenX) box.scrollLeft = Math.max(0, x - seenX / 2);
    if (y < box.scrollTop || y > box.scrollTop + seenY) box.scrollTop = Math.max(0, y - seenY / 2);
  }

  // The grid with a pixel a cell: scaled up it is the picture without its lines and labels.
  let bitmap = { grid: null, key: "", canvas: null };
  function pixels() {
    const { grid, key } = shown;
    if (bitmap.grid === grid && bitmap.key === key) return bitmap.canvas;
    const canvas = element("canvas", { width: grid.cols, height: grid.rows });
    const pen = canvas.getContext("2d");
    const image = pen.createImageData(grid.cols, grid.rows);
    const { map } = grid;
    const by = grids.keys(map)[key] || (() => 0);
    const known = new Map();
    const bytes = new Uint32Array(image.data.buffer); // alpha, blue, green and red, from the highest byte on
    for (let number = 0; number < grid.rows * grid.cols; number++) {
      const begin = grid.start[number];
      if (begin === grid.start[number + 1]) continue;
      const value = by(grid.points[begin] * map.step);
      let word = known.get(value);
      if (word === undefined) {
        const colour = parseInt(grids.colour(data, map, key, value).slice(1), 16);
        word = ((255 << 24) | ((colour & 255) << 16) | (colour & 0xff00) | (colour >> 16)) >>> 0;
        known.set(value, word);
      }
      bytes[number] = word;
    }
    pen.putImageData(image, 0, 0);
    bitmap = { grid, key, canvas };
    return canvas;
  }

  function draw() {
    if (!shown) return;
    const { grid, wide, high, cell, mine } = shown;
    const { map } = grid;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [box.clientWidth, box.clientHeight];
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const style = getComputedStyle(document.documentElement);
    const [ground, text, faint] = ["--ground", "--text", "--faint"].map((name) => style.getPropertyValue(name).trim());
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = ground;
    pen.fillRect(0, 0, width, height);
    const first = [Math.floor(box.scrollTop / high), Math.floor(box.scrollLeft / wide)];
    const end = [
      Math.min(grid.rows, first[0] + Math.ceil((height - margin.top) / high) + 1),
      Math.min(grid.cols, first[1] + Math.ceil((width - margin.left) / wide) + 1),
    ];
    const x = (col) => margin.left + col * wide - box.scrollLeft;
    const y = (row) => margin.top + row * high - box.scrollTop;
    const labelled = wide >= shown.label - 2 && high >= 13;
    const lines = wide > 7 && high > 7;
    pen.font = "11px monospace";
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    pen.save();
    pen.beginPath();
    pen.rect(margin.left, margin.top, width, height);
    pen.clip();
    pen.imageSmoothingEnabled = false;
    const [down, across] = [end[0] - first[0], end[1] - first[1]];
    pen.drawImage(pixels(), first[1], first[0], across, down, x(first[1]), y(first[0]), across * wide, down * high);
    if (lines) {
      pen.fillStyle = ground;
      for (let col = first[1]; col <= end[1]; col++) pen.fillRect(x(col) - 1, margin.top, 1, height);
      for (let row = first[0]; row <= end[0]; row++) pen.fillRect(margin.left, y(row) - 1, width, 1);
    }
    pen.fillStyle = "#111";
    for (let row = first[0]; labelled && row < end[0]; row++) {
      for (let col = first[1]; col < end[1]; col++) {
        const number = row * grid.cols + col;
        if (grid.start[number] < grid.start[number + 1]) pen.fillText(grids.label(grid, number), x(col) + wide / 2, y(row) + high / 2);
      }
    }
    pen.strokeStyle = "#111";
    pen.lineWidth = 2;
    const marked = new Set();
    for (let n = 0, k = 0; mine && n < grid.cell.length; n++, k += map.step) if (mine(k)) marked.add(grid.cell[n]);
    for (const number of marked) pen.strokeRect(x(number % grid.cols) + 1, y(Math.floor(number / grid.cols)) + 1, Math.max(1, wide - 3), Math.max(1, high - 3));
    for (const [number, colour] of [[hover, text], [cell, "#c2185b"]]) {
      if (number == null || number < 0) continue;
      pen.strokeStyle = colour;
      pen.lineWidth = 3;
      pen.strokeRect(x(number % grid.cols) - 1, y(Math.floor(number / grid.cols)) - 1, wide + 1, high + 1);
    }
    pen.restore();
    pen.fillStyle = faint;
    const skipRows = Math.ceil(13 / high);
    const skipCols = Math.ceil(24 / wide);
    for (let col = first[1]; col < end[1]; col++) if (col % skipCols === 0 && x(col) >= margin.left - 1) pen.fillText(grid.colName(col), x(col) + wide / 2, margin.top / 2);
    pen.textAlign = "right";
    for (let row = first[0]; row < end[0]; row++) if (row % skipRows === 0 && y(row) >= margin.top - 1) pen.fillText(grid.rowName(row), margin.left - 6, y(row) + high / 2);
  }

  // The cell at a place of the window, or -1.
  function hit(event) {
    const frame = canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - frame.left, event.clientY - frame.top];
    if (!shown || px < margin.left || py < margin.top) return -1;
    const col = Math.floor((px - margin.left + box.scrollLeft) / shown.wide);
    const row = Math.floor((py - margin.top + box.scrollTop) / shown.high);
    return row < shown.grid.rows && col < shown.grid.cols ? row * shown.grid.cols + col : -1;
  }

  function move(key) {
    const { grid, cell } = shown;
    const at = cell < 0 ? 0 : cell;
    let [row, col] = [Math.floor(at / grid.cols), at % grid.cols];
    if (key === "ArrowLeft") col--;
    else if (key === "ArrowRight") col++;
    else if (key === "ArrowUp") row--;
    else if (key === "ArrowDown") row++;
    else if (key === "Home") col = 0;
    else if (key === "End") col = grid.cols - 1;
    else if (key === "PageUp") row = Math.max(0, row - 8);
    else if (key === "PageDown") row = Math.min(grid.rows - 1, row + 8);
    else return false;
    if (row >= 0 && row < grid.rows && col >= 0 && col < grid.cols) picked(row * grid.cols + col, true);
    return true;
  }

  box.addEventListener("scroll", draw);
  box.addEventListener("mousemove", (event) => {
    const cell = hit(event);
    if (cell === hover) return;
    hover = cell;
    picked(cell, false);
    draw();
  });
  box.addEventListener("mouseleave", () => { hover = -1; picked(-1, false); draw(); });
  box.addEventListener("click", (event) => { const cell = hit(event); if (cell >= 0) picked(cell, true); });
  box.addEventListener("keydown", (event) => {
    if (shown && !event.ctrlKey && !event.metaKey && !event.altKey && move(event.key)) event.preventDefault();
  });
  addEventListener("resize", () => { if (shown) { const again = shown; shown = null; show(again.grid, again); } });
  new MutationObserver(draw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return { show, draw };
};
