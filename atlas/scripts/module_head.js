// The head of a PTX module in front of a statement: its version and target, and what is left. No DOM.
"use strict";

globalThis.ptxmma = globalThis.ptxmma || { data: {} };

ptxmma.moduleHead = (text) => {
  const HEAD = /^\s*(?:\/\/[^\n]*\n\s*)*\.(version|target|address_size)[ \t]+([\w.]+)(?:[ \t]*,[ \t]*\w+)*[ \t]*;?[ \t]*(?:\s|$)/;
  const found = {};
  let rest = text;
  for (let match = HEAD.exec(rest); match; match = HEAD.exec(rest)) {
    found[match[1]] = match[2];
    rest = rest.slice(match[0].length);
  }
  return { found: rest !== text, version: found.version || "", target: found.target || "", rest: rest.trimStart() };
};
