// Words that are no mnemonic: the pages, sections, layouts and entries that are about them. No DOM.
"use strict";

ptxmma.pages = (() => {
  const SHOWN = 12;
  const TITLED = 6; // the score of a word that a title has
  const PASSED = new Set(("a an and are at by can do does for from has have how i in is it its me mine my of on or the their there this to what when where which " +
    "who whose why with holds hold").split(" "));
  const PLACE = /\b(row|column|col|thread|element)\s*[=:]?\s*(\d+)/gi;

  const wordsOf = (text) => (text.toLowerCase().match(/[\p{L}_][\p{L}\p{N}_]*/gu) || []).filter((word) => !PASSED.has(word));
  // A word without the end of its plural.
  const stem = (word) => word.replace(/(?<=\w{3})(es|s)$/, "");

  const read = new WeakMap();

  // The words of every entry: of its title, and the others.
  function prepared(index) {
    if (!read.has(index)) {
      read.set(index, index.entries.map(([title, path, of, others]) => {
        const lower = title.toLowerCase();
        return { title, path, of, lower, own: lower.split(/[^\p{L}\p{N}_]+/u).filter(Boolean).map(stem), others: ` ${of.toLowerCase()} ${others}` };
      }));
    }
    return read.get(index);
  }

  // How well a word is met: in the title, the more the shorter that is, or among the other words.
  function met(word, { lower, own, others }) {
    if (own.includes(word)) return TITLED + 4 / own.length;
    if (lower.includes(word)) return 3;
    return others.includes(` ${word}`) ? 1 : 0;
  }

  // The entries that are about a text, best first: those that meet most of its words.
  function find(index, text) {
    const words = [...new Set(wordsOf(text).map(stem))].slice(0, 12);
    const found = prepared(index).map((entry, place) => {
      const scores = words.map((word) => met(word, entry));
      return { title: entry.title, path: entry.path, of: entry.of, place, count: scores.filter(Boolean).length, score: scores.reduce((sum, one) => sum + one, 0) };
    });
    const most = Math.max(1, ...found.map(({ count }) => count));
    // Those that lack a word follow where a title has another one.
    return found.filter(({ count, score }) => count && (count === most || score >= TITLED))
      .sort((x, y) => y.count - x.count || y.score - x.score || x.place - y.place).slice(0, SHOWN);
  }

  // Places that a text asks for (`row 9, column 3 of sparse A`), in the explorer: a title and an address each.
  function places(index, text) {
    const asked = Object.fromEntries([...text.matchAll(PLACE)].map(([, name, number]) => [name.toLowerCase().replace("column", "col"), number]));
    if (!Object.keys(asked).length) return [];
    const sparse = /sparse|metadata|\.sp\b/i.test(text);
    const letter = (/(?:^|[^\p{L}])([A-D])(?![\p{L}\p{N}])/u.exec(text) || [null, "A"])[1];
    return index.starts.filter((one) => one.operands.includes(letter) && (!sparse || one.sparse)).map(({ instruction, mnemonic, operands }) => {
      const state = new URLSearchParams({ mnemonic, operand: letter, ...asked });
      const where = Object.entries(asked).map(([name, number]) => `${name === "col" ? "column" : name} ${number}`).join(", ");
      const bits = sparse && operands.includes("metadata") && letter === "A" ? ", and its metadata bits" : "";
      return { title: `${where} of ${letter} of ${instruction}${bits}`, path: `layouts.html#${state}`, of: mnemonic };
    }).slice(0, SHOWN);
  }

  // Whether a text is words rather than PTX.
  const areWords = (text) => wordsOf(text).length > 0 && !/[;{}[\]"%]|\w\.\w/.test(text);

  return { find, places, areWords };
})();
