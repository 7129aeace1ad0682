// Reads one PTX statement: guard, qualifiers, the form of every operand, declared register types. No DOM.
"use strict";

ptxmma.statements = (() => {
  const { strip, rstrip, points, repr } = ptxmma.texts;
  const { Fault, constantOf, literalOf, signed } = ptxmma.constants;
  const NAME = "(?:[A-Za-z]|[%$_][A-Za-z0-9_$])[A-Za-z0-9_$]*"; // an identifier (4.4)
  const S = "[ \\t\\n\\r\\f]";
  const END = "(?=\\n?(?![^]))"; // $ of Python
  const pattern = (text, flags = "") => new RegExp(text, `u${flags}`);
  const whole = (text) => pattern(`^(?:${text})$`);

  const FOREIGN = pattern("[^ -~\\t\\n\\r\\f]"); // outside comments, no assembler reads another character
  const REGISTER = `(?!WARP_SZ${END})(?:${NAME}(?:\\.[xyzwrgba])?|_)`;
  const IS_REGISTER = whole(REGISTER);
  const NAMED = pattern(`^(?!WARP_SZ(?![A-Za-z0-9_]))${NAME}`);
  const DECLARATION = pattern(`^${S}*\\.reg${S}+(?:\\.(v[0-9])${S}*)?\\.([A-Za-z0-9_]+)${S}+([^;]*?)${S}*(?:;|${END})`, "d");
  const DECLARED = pattern(`^(${NAME})${S}*(?:<${S}*([0-9]+)${S}*>)?${END}`);
  const LABELS = pattern(`^(?:${S}*${NAME}${S}*:(?!:))+`);
  const GUARD = pattern(`^${S}*@${S}*(!?)${S}*(${NAME})${S}+`);
  const MNEMONIC = pattern(`^${S}*([A-Za-z_][A-Za-z0-9_:]*(?:${S}*\\.[A-Za-z0-9_:]+|${S}+::[A-Za-z0-9_]+)*)${S}*`);
  const PLAIN = "[^ \\t\\n\\r\\f,{}\\[\\];][^,{}\\[\\];]*?";
  const ARGUMENT = pattern(`${S}*(?:\\{([^{}]*)\\}|\\[([^\\[\\]]*)\\]|(${PLAIN}))${S}*(?:,|${END})`, "y");
  const SUM = whole(`((?!WARP_SZ(?![A-Za-z0-9_]))${NAME})${S}*\\+(.+)`);
  const LITERAL = ["immediate", "float"];
  const PARTS = "xyzwrgba"; // the components of a vector variable
  const INTEGER = whole(`([+-]?)${S}*(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)U?`);
  const BITS = "0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}"; // ptxas takes no sign before one, and no operator beside
  const DECIMAL = pattern("(?:[0-9]+\\.[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+", "g");
  const VALUE = "\\u0000"; // stands for what has a value: it is in no statement
  const SIGNED = `(?:[+-]${S}*)*${VALUE}`;
  const SUMMED = `${S}*${SIGNED}(?:${S}*[-+*/]${S}*${SIGNED})*${S}*`;
  const ALONE = whole(BITS);
  const WHOLE = whole(SUMMED);
  const GROUP = pattern(`\\((?:${S}*(?:${BITS})${S}*|${SUMMED})\\)`, "g");
  const SINGLE = pattern("^[ \\t\\n\\r\\f(+-]*0[fF]");
  const MOST = 1 << 20; // registers of one declaration

  // Types of declared registers: by name, and by the beginning of numbered names.
  class Declared {
    constructor() { this.made = []; }

    add(name, count, type) { if (count !== 0) this.made.push({ name, count, type }); }

    get empty() { return this.made.length === 0; }

    get(register) {
      for (let i = this.made.length - 1; i >= 0; i -= 1) {
        const { name, count, type } = this.made[i];
        if (count === null ? register === name : numbered(register, name, count)) return type;
      }
      return undefined;
    }
  }

  function numbered(register, name, count) {
    const number = register.startsWith(name) ? register.slice(name.length) : "";
    return /^(0|[1-9][0-9]{0,6})$/.test(number) && Number(number) < count;
  }

  function uncommented(text) {
    let [made, at, closes] = ["", 0, true];
    for (;;) {
      const slash = text.indexOf("/", at);
      if (slash < 0) break;
      const close = text[slash + 1] === "*" && closes ? text.indexOf("*/", slash + 2) : -1;
      if (text[slash + 1] === "*" && close < 0) closes = false;
      const line = text.indexOf("\n", slash);
      const end = close >= 0 ? close + 2 : text[slash + 1] !== "/" ? -1 : line < 0 ? text.length : line;
      made += end < 0 ? text.slice(at, slash + 1) : `${text.slice(at, slash)} `;
      at = end < 0 ? slash + 1 : end;
    }
    return made + text.slice(at);
  }

  function declarations(text) {
    const declared = new Declared();
    for (let found = DECLARATION.exec(text); found; found = DECLARATION.exec(text)) {
      const kind = found[1] === undefined ? found[2] : `${found[1]}.${found[2]}`;
      const names = found[3];
      const begin = points(text, found.indices[3][0]);
      for (const item of names.split(",")) {
        const name = DECLARED.exec(strip(item));
        if (!name) throw new Fault(`${repr(strip(item))} is not a register name`, begin + 1);
        const digits = (name[2] || "").replace(/^0+/, "");
        if (digits.length > 20) throw new Fault(`a number of ${digits.length} digits of registers`, begin + 1);
        if (BigInt(digits || 0) > MOST) throw new Fault(`${BigInt(digits)} registers in one declaration`, begin + 1);
        declared.add(name[1], name[2] === undefined ? null : Number(digits), kind);
      }
      text = text.slice(found[0].length);
    }
    return { rest: text, declared };
  }

  // Register declarations, then exactly one statement; throws Fault.
  function read(text) {
    if (text.includes("/")) {
      text = uncommented(text);
      const open = text.indexOf("/*");
      if (open >= 0) throw new Fault("a comment begins with '/*' and does not end", points(text, open) + 1);
    }
    const foreign = FOREIGN.exec(text);
    if (foreign) throw new Fault(`${repr(foreign[0])} may stand in a comment only`, points(text, foreign.index) + 1);
    let [rest, offset, declared] = [text, 0, new Declared()];
    if (text.includes(".reg")) {
      ({ rest, declared } = declarations(text));
      offset = text.length - rest.length;
    }
    const column = (behind) => points(text, offset + behind) + 1;
    rest = rstrip(rest);
    if (!rest) {
      const where = declared.empty ? "" : " behind the declarations";
      throw new Fault(`there is no statement${where}; one ends with ';'`, column(0));
    }
    if (!rest.endsWith(";")) throw new Fault("the statement does not end with ';'", column(rest.length));
    rest = rest.slice(0, -1);
    if (rest.includes(";")) throw new Fault("more than one statement", column(rest.indexOf(";") + 1));
    let guard = null;
    if (rest.includes("@") || rest.includes(":")) {
      const labels = LABELS.exec(rest);
      if (labels) [rest, offset] = [rest.slice(labels[0].length), offset + labels[0].length];
      const found = GUARD.exec(rest);
      if (found) {
        guard = found[1] + found[2];
        [rest, offset] = [rest.slice(found[0].length), offset + found[0].length];
      }
    }
    const opcode = MNEMONIC.exec(rest);
    if (!opcode) throw new Fault("no instruction name", column(0));
    const parts = ptxmma.texts.words(opcode[1]);
    const written = parts.length > 1 ? parts : null; // where blanks part the mnemonic
    return { guard, mnemonic: parts.join(""), operands: rest.slice(opcode[0].length), declared, written };
  }

  // The operands of a statement, by their form; throws Fault.
  function argumentsOf(text) {
    const found = [];
    const end = rstrip(text).length;
    let position = 0;
    while (position < end) {
      ARGUMENT.lastIndex = position;
      const match = ARGUMENT.exec(text);
      if (!match) {
        const shown = strip([...text.slice(position, position + 40)].slice(0, 20).join(""));
        throw new Fault(`no operand at ${repr(shown)}`, points(text, position) + 1);
      }
      const [, vector, address, plain] = match;
      if (vector !== undefined) found.push(vectorOf(vector));
      else if (address !== undefined) found.push(addressOf(strip(address)));
      else found.push(argument(plain));
      const behind = position + match[0].length;
      if (rstrip(match[0]).endsWith(",") && behind >= end) {
        throw new Fault("an operand is missing behind the last ','", points(text, end));
      }
      position = behind;
    }
    return found;
  }

  const argumentWith = (shape, value, registers = [], literals = 0) => ({ shape, value, registers, literals });

  function vectorOf(text) {
    const registers = text.split(",").map(strip);
    if (!registers.every((one) => one)) throw new Fault("a vector has an empty element");
    let literals = 0;
    for (const element of registers) {
      if (!IS_REGISTER.test(element)) {
        if (!LITERAL.includes(argument(element).shape)) throw new Fault(`${element} may not stand in a vector`);
        literals += 1;
      }
    }
    return argumentWith("vector", registers.length, registers, literals);
  }

  // What an element of a vector is: integer, single or double (literals of floating point), sink, register.
  function elementKind(text) {
    if (text === "_") return "sink";
    if (IS_REGISTER.test(text)) return "register";
    if (argument(text).shape !== "float") return "integer";
    return SINGLE.test(text) ? "single" : "double";
  }

  // `[name]`, `[name+offset]` or an immediate address.
  function addressOf(text) {
    const base = NAMED.exec(text);
    if (!base) {
      if (argument(text).shape !== "immediate") throw new Fault(`[${text}] is not an address`);
      return argumentWith("address", 0);
    }
    const behind = strip(text.slice(base[0].length));
    if (behind) {
      if (behind[0] === "-") throw new Fault(`[${text}] is not an address; write [${base[0]}+${behind}]`);
      if (behind[0] !== "+" || argument(strip(behind.slice(1))).shape !== "immediate") {
        throw new Fault(`[${text}] is not an address; it may be [${base[0]}] or [${base[0]}+offset]`);
      }
    }
    return argumentWith("address", 0, [base[0]]);
  }

  // Whether a decimal number is neither too large nor too small for 64 bits.
  function fitsIn64(number) {
    const value = Number(number);
    return Number.isFinite(value) && (value !== 0 || !/[1-9]/.test(number.split(/[eE]/)[0]));
  }

  // Whether a text is a floating-point constant, or a sum or product of some.
  function isFloat(text) {
    if (ALONE.test(text)) return true;
    if (!(text.match(DECIMAL) || []).every(fitsIn64)) return false;
    let left = "";
    let rest = text.replace(DECIMAL, "\0");
    while (rest !== left) [left, rest] = [rest, rest.replace(GROUP, "\0")];
    return WHOLE.test(rest);
  }

  // The form of an operand (or of a vector's element) that is neither a vector nor an address.
  function argument(text) {
    if (IS_REGISTER.test(text) && text !== "_") return argumentWith("register", 1, [text]);
    const integer = INTEGER.exec(text);
    if (integer) {
      const value = literalOf(integer[2], text);
      return argumentWith("immediate", signed(integer[1] === "-" ? -value : value));
    }
    if (text.startsWith("!")) {
      const behind = strip(text.slice(1));
      if (IS_REGISTER.test(behind)) return argumentWith("negated", 1, [behind]);
    }
    if (text === "_") return argumentWith("sink", 0);
    if (isFloat(text)) return argumentWith("float", 0);
    const added = SUM.exec(text);
    if (added) {
      constantOf(strip(added[2]));
      return argumentWith("sum", 1, [added[1]]);
    }
    return argumentWith("immediate", constantOf(text));
  }

  return { PARTS, Fault, Declared, read, argumentsOf, argument, elementKind };
})();
