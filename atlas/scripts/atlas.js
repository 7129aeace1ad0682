// What every page has: the one name `ptxmma`, the theme, and the key that leads to the search box.
"use strict";

globalThis.ptxmma = globalThis.ptxmma || { data: {} };

// The state of a page is its address behind #: `a=1&b=2`. So every state has a link, and Back undoes a step.
ptxmma.state = (() => {
  const PAUSE = 350; // milliseconds; browsers refuse a page that changes its address a hundred times in 30 s
  const GOING = new Set(["input", "keydown", undefined]); // a slider that is dragged, a walk by keys, words that are typed
  let gesture = null; // the kind and target of the event behind the last step
  let later = null; // the address of a gesture that goes on
  let waiting = 0;

  const now = () => location.pathname + location.search + location.hash;

  function address(values) {
    const words = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== "" && value != null));
    const hash = words.toString();
    return location.pathname + (hash && `#${hash}`);
  }

  function change(how, to) {
    try { history[how](null, "", to); } catch { /* too many for this browser: the page shows its state all the same */ }
  }

  function settle() {
    clearTimeout(waiting);
    if (later !== null) change("replaceState", later);
    waiting = 0;
    later = null;
  }

  function endGesture() {
    settle();
    gesture = null;
  }

  if (typeof document !== "undefined") {
    for (const name of ["pointerdown", "click", "paste", "focusin"]) addEventListener(name, endGesture, true);
    addEventListener("popstate", () => {
      later = null;
      endGesture();
    });
  }

  return {
    read() {
      return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    },
    // What the page shows by itself: no step.
    write(values) {
      const to = address(values);
      if (to !== now()) change("replaceState", to);
    },
    // A step of a person. The steps of one gesture are one; its last address is written when it pauses.
    step(values) {
      const to = address(values);
      const { type, target } = globalThis.event || {};
      if (gesture && GOING.has(type) && gesture.type === type && gesture.target === target) {
        later = to;
        waiting ||= setTimeout(settle, PAUSE);
        return;
      }
      settle();
      if (to === now()) return;
      change("pushState", to);
      gesture = { type, target };
    },
    // Calls when another state is gone to; a hash that only names a place of the page is no state.
    heed(listener) {
      addEventListener("hashchange", () => {
        if (location.hash.length < 2 || location.hash.includes("=")) listener();
      });
    },
  };
})();

// An element: its name, attributes (on… are listeners), and children, of which texts are escaped by the browser.
ptxmma.element = function (name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child != null));
  return made;
};

// A text whose section numbers lead to the manual; for the numbers of data, which are all of one edition.
ptxmma.cited = function (text) {
  const { page, anchors } = ptxmma.data.manual;
  return text.split(/(\d+(?:\.\d+){2,})/).map((part) => (part in anchors ? ptxmma.element("a", { href: `${page}#${anchors[part]}` }, part) : part));
};

// Load data/NAME.js when it is needed; a script, since a page at file:// may not fetch.
ptxmma.load = function (name) {
  if (name in ptxmma.data) return Promise.resolve(ptxmma.data[name]);
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${document.documentElement.dataset.root}data/${name}.js`;
    script.onload = () => resolve(ptxmma.data[name]);
    script.onerror = () => reject(new Error(`data/${name}.js cannot be loaded`));
    document.head.append(script);
  });
};

// A file that the page made, as a download.
ptxmma.download = function (name, text, type = "text/plain") {
  const address = URL.createObjectURL(new Blob([text], { type }));
  ptxmma.element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
};

if (typeof document !== "undefined") {
  const root = document.documentElement;
  const remembered = (() => {
    try { return localStorage.getItem("ptxmma-theme"); } catch { return null; }
  })();
  root.dataset.theme = remembered || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").addEventListener("click", () => {
      root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
      try { localStorage.setItem("ptxmma-theme", root.dataset.theme); } catch { /* a browser may forbid it */ }
    });
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.target.closest("input, textarea, select")) return;
      event.preventDefault();
      document.getElementById("find").focus();
    });
  });
}
