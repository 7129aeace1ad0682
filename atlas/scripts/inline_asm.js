// The PTX inside pasted C++: strings joined, operands by number and type, as `ptxmma check --cuda` reads them. No DOM.
"use strict";

ptxmma.inlineAsm = (() => {
  const TOKEN = new RegExp([
    "(?<comment>\\/\\/[^\\n]*|\\/\\*[^]*?(?:\\*\\/|$))", '(?<raw>(?:u8|[uUL])?R"(?<mark>[^()\\\\\\s"]{0,16})\\([^]*?(?:\\)\\k<mark>"|$))',
    '(?<string>(?:u8|[uUL])?"(?:[^"\\\\\\n]|\\\\\\r?\\n|\\\\.)*"?)', "(?<splice>\\\\[ \\t]*\\r?\\n)", "(?<name>[A-Za-z_]\\w*)",
    "(?<number>\\.?\\d[\\w.']*)", "(?<sign>::|[^\\s\\w])",
  ].join("|"), "g");
  const QUALIFIERS = ["volatile", "__volatile__", "__volatile", "inline", "goto"];
  const ASM = ["asm", "__asm", "__asm__"];
  const SHORT = { n: "\n", t: "\t", r: "\r", v: "\v", f: "\f", a: "\x07", b: "\b" };
  const ESCAPE = /\\(?:(\r?\n)|([0-7]{1,3})|x([0-9a-fA-F]+)|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([^]))/g;
  const OPERAND = /%(?:(\d+)|\[([A-Za-z_]\w*)\]|(%)|(=))/g;
  const HOLE = "\0"; // what a macro spells
  const NUMBER = "\x01"; // a number that the compiler knows
  const FIRST = "1"; // in its place: most such numbers may be 1
  const MOST = 32; // tried after it

  // Whether a text is C++ rather than PTX, in which no string stands.
  const isSource = (text) => /"/.test(text);

  function tokensOf(text) {
    const found = [];
    for (const match of text.matchAll(TOKEN)) {
      const [kind] = Object.entries(match.groups).find(([name, one]) => one !== undefined && name !== "mark");
      if (kind !== "comment" && kind !== "splice") found.push({ kind, text: match[0] });
    }
    return found;
  }

  function decoded({ kind, text }) {
    if (kind === "raw") return /\(([^]*?)(?:\)[^()\\\s"]{0,16}"|$)/.exec(text)[1];
    const inside = text.slice(text.indexOf('"') + 1, text.length - (text.endsWith('"') ? 1 : 0));
    const point = (code) => (code < 0x110000 ? String.fromCodePoint(code) : "?");
    return inside.replace(ESCAPE, (_, line, octal, hex, short, long, letter) => {
      if (line) return "";
      if (octal) return point(parseInt(octal, 8));
      if (hex || short || long) return point(parseInt(hex || short || long, 16));
      return SHORT[letter] || letter;
    });
  }

  const isString = ({ kind }) => kind === "string" || kind === "raw";
  const deeper = ({ text }) => ["(", "[", "{"].includes(text) - [")", "]", "}"].includes(text);

  // The sections of each asm statement, which colons part; strings that stand alone are one without lists.
  function sections(tokens) {
    const found = [];
    for (let at = 0; at < tokens.length; at += 1) {
      if (!ASM.includes(tokens[at].text)) continue;
      let open = at + 1;
      while (open < tokens.length && QUALIFIERS.includes(tokens[open].text)) open += 1;
      if (open >= tokens.length || tokens[open].text !== "(") continue;
      const parts = [[]];
      let depth = 1;
      for (at = open + 1; at < tokens.length; at += 1) {
        depth += deeper(tokens[at]);
        if (!depth) break;
        if (depth === 1 && tokens[at].text === ":") parts.push([]);
        else if (depth === 1 && tokens[at].text === "::") parts.push([], []);
        else parts[parts.length - 1].push(tokens[at]);
      }
      found.push(parts);
    }
    return found.length ? found : [[tokens.filter(isString), [], []]];
  }

  // The operands of a list: their constraint (null: a macro spells it), name and expression; null for anything else.
  function listed(part, output) {
    const found = [];
    let [item, depth] = [[], 0];
    const done = () => {
      if (item.length) found.push(operandOf(item, output));
      item = [];
    };
    for (const token of part) {
      depth += deeper(token);
      if (token.text !== "," || depth) item.push(token);
      if (!depth && (token.text === ")" || token.text === ",")) done();
    }
    done();
    return found.includes(null) ? null : found;
  }

  function operandOf(item, output) {
    let name = "";
    if (item.length > 2 && item[0].text === "[" && item[2].text === "]") [name, item] = [item[1].text, item.slice(3)];
    const bracket = item.findIndex(({ text }) => text === "(");
    if (bracket < 1 || item[item.length - 1].text !== ")" || !isString(item[0])) return null;
    const spelled = item.slice(0, bracket);
    const constraint = spelled.every(isString) ? spelled.map(decoded).join("") : null;
    return { name, constraint, expression: item.slice(bracket + 1, -1).map(({ text }) => text).join(" "), output };
  }

  // What a constraint says: the types of a register, or a number; of a digit, what that operand says.
  function typed(operands, constraints) {
    const found = [];
    for (const { constraint, expression } of operands) {
      const letter = (constraint || "").trim().replace(/^[=+&%*!?]+|[=+&%*!?]+$/g, "");
      if (/^\d+$/.test(letter)) found.push(found[Number(letter)] || { types: [] });
      else if (letter === "n") found.push({ types: [], text: numberIn(expression) ?? NUMBER });
      else if (letter === "C") found.push({ types: [], text: HOLE });
      else found.push({ types: (Object.hasOwn(constraints, letter) && constraints[letter]) || [] });
    }
    return found;
  }

  // The text of a literal; null for what only the compiler knows.
  function numberIn(expression) {
    let text = expression.trim();
    while (text.startsWith("(") && text.endsWith(")")) text = text.slice(1, -1).trim();
    if (text === "true" || text === "false") return text === "true" ? "1" : "0";
    const match = /^([+-]?)\s*(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)[uUlL]*$/.exec(text);
    if (!match) return null;
    const value = BigInt(/^0\d+$/.test(match[2]) ? `0o${match[2].slice(1)}` : match[2]);
    return String(match[1] === "-" ? -value : value);
  }

  // The PTX of an asm statement, its macros as holes.
  function template(parts, operands, kinds) {
    let depth = 0;
    const plain = parts[0].map((token) => {
      const outside = depth === 0;
      depth += deeper(token);
      if (isString(token)) return decoded(token);
      return outside && deeper(token) >= 0 && token.text !== "(" ? HOLE : "";
    }).join("");
    if (parts.length === 1) return plain;
    const numbers = new Map((operands || []).map(({ name }, number) => [name, number]));
    return plain.replace(OPERAND, (word, number, name, percent, unique) => {
      if (percent || unique) return percent ? "%" : "0";
      const at = name ? numbers.get(name) ?? -1 : Number(number);
      return kinds[at]?.text ?? (at < 0 ? word.replace(/[[\]]/g, "") : `%${at}`);
    });
  }

  // The statements of a body, and its declarations; braces around a scope are left out.
  function pieces(body) {
    const plain = body.replace(/\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)/g, " ");
    const found = plain.split(";").map((one, number, all) => {
      const text = one.replace(/^[\s{}]+/, "");
      return { text: number === all.length - 1 ? closed(text) : text.trim(), ended: number < all.length - 1 };
    });
    return found.filter(({ text }) => text);
  }

  // A text without the braces at its end that it does not open.
  function closed(text) {
    let [depth, end] = [0, 0];
    for (const [at, sign] of [...text].entries()) {
      depth += (sign === "{") - (sign === "}");
      if (depth < 0) break;
      end = at + 1;
    }
    return [...text].slice(0, end).join("").trim();
  }

  // By statement: its PTX with the types of its registers declared in front, the choices of types, and what is open.
  function read(text, constraints) {
    return sections(tokensOf(text)).flatMap((parts) => {
      const lists = parts.slice(1, 3).map((part, number) => listed(part, number === 0));
      const operands = lists.includes(null) ? null : lists.flat();
      const kinds = typed(operands || [], constraints);
      const own = [];
      const made = [];
      for (const { text: piece, ended } of pieces(template(parts, operands, kinds))) {
        if (/^\.reg\b/.test(piece)) own.push(`${piece};`);
        else if (!piece.startsWith(".")) made.push({ piece, ended, own: own.join(" ") });
      }
      return made.map((one) => ({ ...one, choices: choices(one.piece, kinds) }));
    });
  }

  // The declarations of a statement's operands: first as nvcc declares them, then as it might.
  function choices(piece, kinds) {
    const used = kinds.map(({ types }, number) => ({ types, name: `%${number}` }))
      .filter(({ types, name }) => types.length && new RegExp(`${name}(?!\\d)`).test(piece));
    const most = Math.max(1, ...used.map(({ types }) => types.length));
    return Array.from({ length: most }, (_, number) =>
      used.map(({ types, name }) => `.reg .${types[Math.min(number, types.length - 1)]} ${name};`).join(" "));
  }

  // The answer of a judge about a statement of `read`: the best that its types and open numbers allow.
  function answer(judge, { piece, ended, own, choices: declared }) {
    if (piece.includes(HOLE)) return { statement: shown(piece), why: "A macro spells a part of it; put what it stands for in its place." };
    let best = null;
    for (const types of declared) {
      const judged = (text) => judge.answer([own, types, `${text};`].filter((part) => part).join(" "));
      const found = filled(judged, piece.split(NUMBER));
      if (!best || mistyped(found) < mistyped(best)) best = found;
      if (!mistyped(best)) break;
    }
    if (ended) return { statement: shown(piece), ...best };
    const lacks = { code: "inline.semicolon", message: "the string ends without ';'" };
    return { statement: shown(piece), ...best, verdict: best.verdict === "unknown" ? "unknown" : "illegal", reasons: [...best.reasons, lacks] };
  }

  const mistyped = ({ reasons }) => reasons.filter(({ code }) => code === "operand.type").length;

  // The answer with the numbers between these parts chosen one after another, so that most of them may stand there.
  function filled(judged, parts) {
    const values = parts.slice(1).map(() => FIRST);
    const answer = () => judged(parts.reduce((text, part, number) => text + values[number - 1] + part));
    const wrong = ({ reasons }) => reasons.filter(({ code }) => code === "operand.range").length;
    let best = answer();
    for (let number = 0; number < values.length && wrong(best); number += 1) {
      for (let value = -1; value <= MOST && values[number] === FIRST; value += 1) {
        values[number] = String(value);
        const found = answer();
        if (wrong(found) < wrong(best)) best = found;
        else values[number] = FIRST;
      }
    }
    return best;
  }

  const shown = (piece) => `${piece.replaceAll(HOLE, "…").replaceAll(NUMBER, "…").replace(/\s+/g, " ")};`;

  // Every statement that the specification judges, with its answer; where there is none, the first of all.
  function answers(judge, text, constraints) {
    const statements = read(text, constraints);
    const name = ({ piece }) => piece.replace(/^(?:[\w$%]+\s*:(?!:)\s*)*(?:@\s*!?\s*[\w$%]+\s*)?/, "");
    const judged = statements.filter((one) => judge.groupOf(name(one).split(/[\s\0]/)[0]));
    return (judged.length ? judged : statements.slice(0, 1)).map((one) => answer(judge, one));
  }

  return { isSource, read, answers };
})();
