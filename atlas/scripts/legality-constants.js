// The value of a constant expression of PTX, read as the specification reads it: Python's syntax. No DOM.
"use strict";

ptxmma.constantExpression = (() => {
  const MASK = (1n << 64n) - 1n;
  const DEEPEST = 900; // operators in one another; Python's own reader gives up about there
  const LEVELS = [["|"], ["^"], ["&"], ["<<", ">>"], ["+", "-"], ["*", "/", "%"]];
  const TOKEN = /[ \t\f]+|\\\r?\n|#[^\n\r]*|(\r\n?|\n)|(0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|0(?:_?0)*|[1-9](?:_?[0-9])*)(?![\p{L}\p{N}_.])|(True|False|not)(?![\p{L}\p{N}_])|(<<|>>|[|^&+\-*/%~()])/uy;

  // The tokens of a text; null where something else stands there.
  function tokens(text) {
    const found = [];
    let depth = 0;
    for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.length;) {
      const match = TOKEN.exec(text);
      if (!match) return null;
      const [, newline, number, word, sign] = match;
      if (sign === "(") depth += 1;
      if (sign === ")") depth -= 1;
      if (depth > 200 || depth < 0) return null;
      if (newline && !depth) return null;
      if (number) {
        const plain = number.replaceAll("_", "");
        if (/^[1-9]/.test(plain) && plain.length > 4300) return null;
        found.push(BigInt(/^0+$/.test(plain) ? 0 : plain));
      } else if (word || sign) found.push(word || sign);
    }
    return found;
  }

  class NoValue extends Error {}

  const floor = (a, b) => {
    const quotient = a / b;
    return a % b !== 0n && (a < 0n) !== (b < 0n) ? quotient - 1n : quotient;
  };

  const shift = (b) => {
    if (b < 0n) throw new NoValue();
    return b < 64n ? b : 64n;
  };

  const BINARY = {
    "|": (a, b) => a | b,
    "^": (a, b) => a ^ b,
    "&": (a, b) => a & b,
    "<<": (a, b) => a << shift(b),
    ">>": (a, b) => a >> shift(b),
    "+": (a, b) => a + b,
    "-": (a, b) => a - b,
    "*": (a, b) => a * b,
    "/": (a, b) => { if (!b) throw new NoValue(); return floor(a, b); },
    "%": (a, b) => { if (!b) throw new NoValue(); return a - b * floor(a, b); },
  };
  const UNARY = { "+": (a) => a, "-": (a) => -a, "~": (a) => ~a };

  // Reads tokens from left to right; each reading is its value and how deep it is.
  class Reader {
    constructor(found) {
      this.found = found;
      this.at = 0;
    }

    next() { return this.found[this.at++]; }

    deeper(...depths) {
      const depth = Math.max(...depths) + 1;
      if (depth > DEEPEST) throw new NoValue();
      return depth;
    }

    negation() {
      let count = 0;
      while (this.found[this.at] === "not") { count += 1; this.at += 1; }
      let [value, depth] = this.level(0);
      for (; count; count -= 1) [value, depth] = [value ? 0n : 1n, this.deeper(depth)];
      return [value, depth];
    }

    level(number) {
      if (number === LEVELS.length) return this.signed();
      let [value, depth] = this.level(number + 1);
      while (LEVELS[number].includes(this.found[this.at])) {
        const operator = BINARY[this.next()];
        const [right, other] = this.level(number + 1);
        [value, depth] = [operator(value, right) & MASK, this.deeper(depth, other)];
      }
      return [value, depth];
    }

    signed() {
      const signs = [];
      while (this.found[this.at] in UNARY) signs.push(this.next());
      let [value, depth] = this.primary();
      for (const sign of signs.reverse()) [value, depth] = [UNARY[sign](value), this.deeper(depth)];
      return [value, depth];
    }

    primary() {
      const token = this.next();
      if (typeof token === "bigint") return [token, 1];
      if (token === "True" || token === "False") return [token === "True" ? 1n : 0n, 1];
      if (token !== "(") throw new NoValue();
      const inner = this.negation();
      if (this.next() !== ")") throw new NoValue();
      return inner;
    }
  }

  // The value; null where the text is no constant expression.
  return function (text) {
    const unsigned = text.replace(/(?<![\p{L}\p{N}_])(0[xX][0-9a-fA-F]+|0[bB][01]+|[0-9]+)U(?![\p{L}\p{N}_])/gu, "$1");
    const octal = unsigned.replace(/(^|[^\p{L}\p{N}_.])0([0-7]+)(?![\p{L}\p{N}_])/gu, (_, before, digits) => `${before}0o${digits}`);
    const found = tokens(ptxmma.texts.strip(octal.replaceAll("!", " not ")));
    if (!found) return null;
    const reader = new Reader(found);
    try {
      const [value] = reader.negation();
      return reader.at === found.length ? value : null;
    } catch (error) {
      if (error instanceof NoValue) return null;
      throw error;
    }
  };
})();
