// The value of an integer constant expression of PTX: 64 bits, signed or unsigned (PTX ISA 4.5). No DOM.
"use strict";

ptxmma.constants = (() => {
  const MASK = (1n << 64n) - 1n;
  const DEEPEST = 50; // expressions inside one another
  const DIGITS = 20; // decimal ones that 64 bits may have
  const WARP = 32n; // WARP_SZ
  const NUMBER = "(?<number>0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)(?<unsigned>U?)(?![A-Za-z0-9_.$])";
  const WORD = "(?<warp>WARP_SZ)(?![A-Za-z0-9_$])|\\([ \\t\\n\\r\\f]*(?<cast>\\.[su]64)[ \\t\\n\\r\\f]*\\)";
  const SIGN = "(?<sign>\\|\\||&&|<<|>>|[=!<>]=|%(?![A-Za-z0-9_$])|[-+*/&|^<>!~?:()])";
  const TOKEN = new RegExp(`[ \\t\\n\\r\\f]*(?:${NUMBER}|${WORD}|${SIGN})`, "y");
  const LEVELS = new Map(
    ["||", "&&", "|", "^", "&", "== !=", "< <= > >=", "<< >>", "+ -", "* / %"].flatMap(
      (signs, level) => signs.split(" ").map((sign) => [sign, level + 1]),
    ),
  );
  const ARITHMETIC = {
    "+": (a, b) => a + b,
    "-": (a, b) => a - b,
    "*": (a, b) => a * b,
    "&": (a, b) => a & b,
    "|": (a, b) => a | b,
    "^": (a, b) => a ^ b,
  };
  const COMPARISONS = {
    "<": (a, b) => a < b,
    "<=": (a, b) => a <= b,
    ">": (a, b) => a > b,
    ">=": (a, b) => a >= b,
    "==": (a, b) => a === b,
    "!=": (a, b) => a !== b,
  };

  // The text is not one PTX statement, or not an operand of one; `column` counts from 1.
  class Fault extends Error {
    constructor(message, column = 1) {
      super(message);
      this.column = column;
    }
  }

  const signed = (value) => BigInt.asIntN(64, value);
  const made = (value, unsigned) => ({ value: unsigned ? value & MASK : signed(value), unsigned });
  const truth = (value) => ({ value: value ? 1n : 0n, unsigned: false });

  // The value of an integer literal without sign and `U`, which stands in `text`.
  function literalOf(digits, text) {
    const octal = /^0[0-7]+$/.test(digits);
    const value = digits.length > DIGITS && /^[1-9]/.test(digits) ? MASK + 1n : BigInt(octal ? `0o${digits.slice(1)}` : digits);
    if (value > MASK) throw new Fault(`${text} does not fit in the 64 bits of an integer constant (4.5.1)`);
    return value;
  }

  // Reads the tokens of an expression from left to right.
  class Reader {
    constructor(text) {
      this.text = text;
      this.at = 0;
      this.end = ptxmma.texts.rstrip(text).length;
      this.depth = 0;
      this.next();
    }

    fault() { return new Fault(`${ptxmma.texts.repr(this.text)} is not an operand`); }

    next() {
      this.token = null;
      if (this.at < this.end) {
        TOKEN.lastIndex = this.at;
        const found = TOKEN.exec(this.text);
        if (!found) throw this.fault();
        this.at = TOKEN.lastIndex;
        this.token = found.groups;
      }
      this.sign = this.token?.sign || "";
    }

    expect(sign) {
      if (this.sign !== sign || (!sign && this.token)) throw this.fault();
      this.next();
    }

    // A conditional expression. Its value keeps its own type: so ptxas has it, against 4.5.5.
    expression() {
      this.depth += 1;
      if (this.depth > DEEPEST) throw this.fault();
      let found = this.binary(1);
      if (this.sign === "?") {
        this.next();
        const first = this.expression();
        this.expect(":");
        const second = this.expression();
        found = found.value ? first : second;
      }
      this.depth -= 1;
      return found;
    }

    binary(lowest) {
      let left = this.unary();
      for (let level = LEVELS.get(this.sign); level >= lowest; level = LEVELS.get(this.sign)) {
        const sign = this.sign;
        this.next();
        left = this.applied(sign, left, this.binary(level + 1));
      }
      return left;
    }

    unary() {
      const before = [];
      for (; this.token && (this.token.cast || "+-!~".includes(this.sign || "?")); this.next()) before.push(this.token.cast || this.sign);
      let found = this.primary();
      for (const sign of before.reverse()) {
        if (sign === "-") found = made(-found.value, found.unsigned);
        else if (sign === "!") found = truth(!found.value);
        else if (sign === "~") found = made(~found.value, true);
        else if (sign !== "+") found = made(found.value, sign === ".u64");
      }
      return found;
    }

    primary() {
      const token = this.token;
      if (!token) throw this.fault();
      if (token.sign) {
        this.expect("(");
        const found = this.expression();
        this.expect(")");
        return found;
      }
      this.next();
      const value = token.warp ? WARP : literalOf(token.number, token.number);
      return { value, unsigned: Boolean(token.unsigned) || value >> 63n > 0n };
    }

    applied(sign, left, right) {
      const unsigned = left.unsigned || right.unsigned;
      if (sign === "&&") return truth(left.value && right.value);
      if (sign === "||") return truth(left.value || right.value);
      if (sign === "<<" || sign === ">>") {
        const count = right.value & 63n; // as ptxas counts; the text says nothing of 64 and more
        return made(sign === "<<" ? left.value << count : left.value >> count, left.unsigned);
      }
      const [a, b] = [made(left.value, unsigned).value, made(right.value, unsigned).value];
      if (sign in ARITHMETIC) return made(ARITHMETIC[sign](a, b), unsigned);
      if (sign in COMPARISONS) return truth(COMPARISONS[sign](a, b));
      if (!b) throw new Fault(`${ptxmma.texts.repr(this.text)} divides by zero`);
      // The remainder is of unsigned numbers; so is the result, by ptxas: the text calls it signed.
      return sign === "%" ? made((a & MASK) % (b & MASK), true) : made(a / b, unsigned);
    }
  }

  // The 64 bits of an expression, as a signed number; throws Fault.
  function constantOf(text) {
    const reader = new Reader(text);
    const found = reader.expression();
    reader.expect("");
    return signed(found.value);
  }

  return { Fault, constantOf, literalOf, signed };
})();
