// Elements as people write them, to bit patterns and back: 1.5, -0, inf, nan, 0x3c00, 0x1.8p-3. No page is needed.
"use strict";

// A number is { m, e }: m * 2^e, m an odd BigInt, or 0 with e 0. What is no number is "inf", "-inf" or "nan".
ptxmma.numbers = (() => {
  const bits = (value) => (value === 0n ? 0 : value.toString(2).length);

  function made(m, e = 0) {
    if (m === 0n) return { m, e: 0 };
    const low = bits(m & -m) - 1;
    return { m: m >> BigInt(low), e: e + low };
  }

  function plus(x, y) {
    const e = Math.min(x.e, y.e);
    return made((x.m << BigInt(x.e - e)) + (y.m << BigInt(y.e - e)), e);
  }

  const negative = (x) => ({ m: -x.m, e: x.e });
  const times = (x, y) => made(x.m * y.m, x.e + y.e);
  const isNumber = (x) => typeof x === "object";
  const same = (x, y) => (isNumber(x) && isNumber(y) ? x.m === y.m && x.e === y.e : x === y);

  const longest = 12; // characters of a decimal number that is shown as it is

  // A number exactly, and short: as a decimal or as M * 2^E with an odd M.
  function text(x) {
    if (!isNumber(x)) return x;
    const short = decimal(x);
    if (short !== null && short.length <= longest) return short;
    return `${x.m === 1n ? "" : x.m === -1n ? "-" : `${x.m} * `}2^${x.e}`;
  }

  function decimal(x) {
    if (x.e >= 0) return x.e > 50 ? null : String(x.m << BigInt(x.e));
    if (-x.e > longest) return null;
    const digits = String((x.m < 0n ? -x.m : x.m) * 5n ** BigInt(-x.e)).padStart(1 - x.e, "0");
    return `${x.m < 0n ? "-" : ""}${digits.slice(0, x.e)}.${digits.slice(x.e)}`;
  }

  return { bits, made, plus, negative, times, isNumber, same, text };
})();

ptxmma.elementCodes = (() => {
  const { bits, made, text } = ptxmma.numbers;
  const widest = 4096; // binary places of a number that is written with a point and an exponent
  const ones = (count) => (1n << BigInt(count)) - 1n;

  // An answer that cannot be given, in a sentence.
  class Question extends Error {}

  function decode(form, pattern) {
    const code = pattern >> BigInt(form.ignored);
    let fraction = code & ones(form.fraction);
    let exponent = Number(code >> BigInt(form.fraction) & ones(form.exponent));
    const sign = form.signed && code >> BigInt(form.fraction + form.exponent) & 1n;
    if (exponent === 2 ** form.exponent - 1) {
      if (form.specials === "ieee") return fraction ? "nan" : sign ? "-inf" : "inf";
      if (form.specials === "nan" && fraction === ones(form.fraction)) return "nan";
    }
    if (form.subnormals && exponent === 0) exponent = 1;
    else fraction |= 1n << BigInt(form.fraction);
    return made(sign ? -fraction : fraction, exponent - form.bias - form.fraction);
  }

  // The pattern of the greatest finite value, without sign and ignored bits.
  function greatest(form) {
    let top = ones(form.exponent + form.fraction);
    while (typeof decode(form, top << BigInt(form.ignored)) === "string") {
      top -= form.specials === "ieee" ? 1n << BigInt(form.fraction) : 1n;
    }
    return top;
  }

  // number / divisor rounded to nearest, ties to even; null where the format has no such value.
  function encode(form, value, divisor) {
    if (value < 0n && !form.signed) return null;
    const number = value < 0n ? -value : value;
    const lowest = (form.subnormals ? 1 : 0) - form.bias;
    let exponent = lowest;
    if (number) {
      exponent = bits(number) - bits(divisor);
      const below = exponent >= 0 ? number < divisor << BigInt(exponent) : number << BigInt(-exponent) < divisor;
      exponent = Math.max(exponent - (below ? 1 : 0), lowest);
    } else if (!form.subnormals) return null;
    const unit = exponent - form.fraction;
    const above = number << BigInt(Math.max(-unit, 0));
    const under = divisor << BigInt(Math.max(unit, 0));
    const rest = above % under;
    let fraction = above / under;
    if (2n * rest > under || (2n * rest === under && fraction & 1n)) fraction += 1n;
    if (fraction >> BigInt(form.fraction + 1)) { exponent += 1; fraction >>= 1n; }
    const hidden = fraction >> BigInt(form.fraction);
    const field = hidden ? exponent + form.bias : 0;
    let pattern = BigInt(field) << BigInt(form.fraction) | fraction & ones(form.fraction);
    if (pattern > greatest(form) || (!hidden && !form.subnormals)) return null;
    if (value < 0n && fraction) pattern |= 1n << BigInt(form.fraction + form.exponent);
    return pattern << BigInt(form.ignored);
  }

  // A number as it is written: numerator and denominator; null where it is none.
  function written(words) {
    const power = /^([-+]?)0x([0-9a-f]*)\.?([0-9a-f]*)p([-+]?\d+)$/.exec(words);
    if (power && (power[2] || power[3])) {
      const scale = Number(power[4]) - 4 * power[3].length;
      if (Math.abs(scale) > widest) return null;
      const value = BigInt(`0x${power[2]}${power[3]}`) * (power[1] === "-" ? -1n : 1n);
      return scale >= 0 ? [value << BigInt(scale), 1n] : [value, 1n << BigInt(-scale)];
    }
    const parts = /^([-+]?)(?:(\d+)\.?(\d*)|\.(\d+))(?:e([-+]?\d{1,3}))?$/.exec(words);
    if (!parts) return null;
    const behind = parts[4] ?? parts[3];
    const scale = Number(parts[5] ?? 0) - behind.length;
    const value = BigInt((parts[2] ?? "") + behind) * (parts[1] === "-" ? -1n : 1n);
    return scale >= 0 ? [value * 10n ** BigInt(scale), 1n] : [value, 10n ** BigInt(-scale)];
  }

  function special(form, words, type, name) {
    const top = ones(form.exponent) << BigInt(form.fraction);
    if (words === "nan" && form.specials === "nan") return top | ones(form.fraction);
    if (form.specials !== "ieee") throw new Question(`${name}: .${type} has no ${words.replace("-", "")}`);
    const sign = BigInt(words === "-inf") << BigInt(form.exponent + form.fraction);
    return (sign | top | BigInt(words === "nan") << BigInt(form.fraction - 1)) << BigInt(form.ignored);
  }

  function integer(known, type, words, name) {
    const [low, high] = known.kind === "signed" ? [-(1n << BigInt(known.bits - 1)), ones(known.bits - 1)] : [0n, ones(known.bits)];
    if (!/^[-+]?\d+(_\d+)*$/.test(words)) throw new Question(`${name}: ${quoted(words)} is not an integer of .${type}`);
    const digits = words.replace(/_/g, "").replace(/^\+/, "");
    const value = digits.startsWith("-") ? -BigInt(digits.slice(1)) : BigInt(digits);
    if (value < low || value > high) throw new Question(`${name}: ${value} is not an element of .${type}: ${low} to ${high}`);
    return BigInt.asUintN(known.bits, value);
  }

  const quoted = (words) => (words.includes("'") && !words.includes('"') ? `"${words}"` : `'${words.replace(/'/g, "\\'")}'`);

  // The bit pattern of one element: 0x… is a pattern, anything else a number, rounded to nearest.
  function codeOf(types, type, given, name) {
    const words = given.trim().toLowerCase();
    const known = types[type];
    const form = known.format;
    if (/^0x[0-9a-f]+$/.test(words)) {
      const code = BigInt(words);
      if (code >> BigInt(known.bits)) throw new Question(`${name}: ${given} has more than the ${known.bits} bits of .${type}`);
      return code;
    }
    if (!form) return integer(known, type, words, name);
    if (/^([-+]?inf|nan)$/.test(words)) return special(form, words.replace("+", ""), type, name);
    const value = written(words);
    if (value === null) throw new Question(`${name}: ${quoted(given)} is not an element; write 1.5, -0, inf, nan, 0x1.8p-3 or a pattern 0x…`);
    const code = encode(form, ...value);
    if (code === null) {
      const most = text(decode(form, greatest(form) << BigInt(form.ignored)));
      throw new Question(`${name}: ${given} is not an element of .${type}, whose greatest number is ${most}`);
    }
    const negative = words.startsWith("-") && form.signed;
    return code | BigInt(negative) << BigInt(form.exponent + form.fraction + form.ignored);
  }

  // The patterns of a list such as 1,2.5*3,0x3c00: *3 stands for three of them, and what is left out is 0.
  function codesOf(types, type, given, count, name) {
    const codes = [];
    for (const raw of given.split(",")) {
      const item = raw.trim();
      const star = item.indexOf("*");
      const times = star < 0 ? "1" : item.slice(star + 1);
      if (!/^\d+$/.test(times)) throw new Question(`${name}: ${quoted(item)} is not an element; write VALUE*COUNT for several of them`);
      const code = codeOf(types, type, star < 0 ? item : item.slice(0, star), name);
      for (let left = Math.min(Number(times), count + 1); left > 0; left -= 1) codes.push(code);
      if (codes.length > count) throw new Question(`${name} has more than the ${count} elements of a product`);
    }
    while (codes.length < count) codes.push(0n);
    return codes;
  }

  // The value of a bit pattern.
  function valueOf(types, type, code) {
    const known = types[type];
    if (known.format) return decode(known.format, code);
    return made(known.kind === "signed" ? BigInt.asIntN(known.bits, code) : code);
  }

  return { Question, codeOf, codesOf, valueOf };
})();
