// Texts as Python treats them: white space, repr, the nearest word, patterns with * and ?. No DOM.
"use strict";

ptxmma.texts = (() => {
  // What str.isspace and \s of Python are true of, as the body of a character class.
  const SPACE = " \\t\\n\\r\\f\\v\\x1c-\\x1f\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
  const isSpace = (() => {
    const one = new RegExp(`[${SPACE}]`);
    return (sign) => one.test(sign);
  })();

  function rstrip(text, signs = isSpace) {
    let end = text.length;
    while (end > 0 && signs(text[end - 1])) end -= 1;
    return text.slice(0, end);
  }

  function lstrip(text) {
    let begin = 0;
    while (begin < text.length && isSpace(text[begin])) begin += 1;
    return text.slice(begin);
  }

  const strip = (text) => lstrip(rstrip(text));

  // The words between white space.
  const words = (text) => strip(text).split(new RegExp(`[${SPACE}]+`)).filter((word) => word);

  const isAscii = (text) => /^[\x00-\x7f]*$/.test(text);

  // How many characters stand before a place; JavaScript counts those beyond 16 bits twice.
  function points(text, place) {
    let count = place;
    for (let i = 1; i < place; i += 1) {
      const unit = text.charCodeAt(i);
      const before = text.charCodeAt(i - 1);
      if (unit >= 0xdc00 && unit <= 0xdfff && before >= 0xd800 && before <= 0xdbff) count -= 1;
    }
    return count;
  }

  // The text as repr prints it.
  function repr(text) {
    const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
    const named = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", [quote]: `\\${quote}` };
    const hex = (code) => {
      if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`;
      if (code < 0x10000) return `\\u${code.toString(16).padStart(4, "0")}`;
      return `\\U${code.toString(16).padStart(8, "0")}`;
    };
    const shown = [...text].map((sign) => {
      if (named[sign]) return named[sign];
      return sign !== " " && /[\p{C}\p{Z}]/u.test(sign) ? hex(sign.codePointAt(0)) : sign;
    });
    return quote + shown.join("") + quote;
  }

  // Where each character stands in a text; frequent ones of a long text are left out, as difflib does.
  function places(text) {
    const found = new Map();
    [...text].forEach((sign, place) => found.set(sign, [...(found.get(sign) || []), place]));
    if (text.length >= 200) {
      const most = Math.floor(text.length / 100) + 1;
      for (const [sign, list] of [...found]) if (list.length > most) found.delete(sign);
    }
    return found;
  }

  // The longest piece that a[alo:ahi] and b[blo:bhi] share: where in both, and how long.
  function longest(a, b, at, alo, ahi, blo, bhi) {
    let [bestA, bestB, size] = [alo, blo, 0];
    let ending = new Map();
    for (let i = alo; i < ahi; i += 1) {
      const next = new Map();
      for (const j of at.get(a[i]) || []) {
        if (j < blo) continue;
        if (j >= bhi) break;
        const length = (ending.get(j - 1) || 0) + 1;
        next.set(j, length);
        if (length > size) [bestA, bestB, size] = [i - length + 1, j - length + 1, length];
      }
      ending = next;
    }
    while (bestA > alo && bestB > blo && a[bestA - 1] === b[bestB - 1]) {
      bestA -= 1; bestB -= 1; size += 1;
    }
    while (bestA + size < ahi && bestB + size < bhi && a[bestA + size] === b[bestB + size]) size += 1;
    return [bestA, bestB, size];
  }

  // How alike two texts are, from 0 to 1: SequenceMatcher(a, b).ratio() of Python's difflib.
  function ratio(a, b, at) {
    let matches = 0;
    const rest = [[0, a.length, 0, b.length]];
    while (rest.length) {
      const [alo, ahi, blo, bhi] = rest.pop();
      const [i, j, size] = longest(a, b, at, alo, ahi, blo, bhi);
      if (!size) continue;
      matches += size;
      if (alo < i && blo < j) rest.push([alo, i, blo, j]);
      if (i + size < ahi && j + size < bhi) rest.push([i + size, ahi, j + size, bhi]);
    }
    return a.length + b.length ? (2 * matches) / (a.length + b.length) : 1;
  }

  // The known word most like `word`, if one is close; null without.
  function nearest(word, known) {
    const at = places(word);
    const b = [...word];
    let best = null;
    for (const one of known) {
      const a = [...one];
      const total = a.length + b.length;
      if (total && (2 * Math.min(a.length, b.length)) / total < 0.6) continue;
      const likeness = ratio(a, b, at);
      if (likeness < 0.6) continue;
      if (!best || likeness > best[0] || (likeness === best[0] && one > best[1])) best = [likeness, one];
    }
    return best && best[1];
  }

  // A pattern of fnmatch as a list of signs: "*", or a function that tells which characters match.
  function signs(pattern) {
    const found = [];
    for (let i = 0; i < pattern.length; i += 1) {
      const sign = pattern[i];
      const from = pattern[i + 1] === "!" ? i + 2 : i + 1;
      const close = sign === "[" ? pattern.indexOf("]", from + 1) : -1;
      if (sign === "*") found.push("*");
      else if (sign === "?") found.push(() => true);
      else if (close < 0) found.push((other) => other === sign);
      else {
        found.push(among(pattern.slice(from, close), from === i + 2));
        i = close;
      }
    }
    return found;
  }

  // Whether a character is one of a set such as a-z.
  function among(set, inverted) {
    const ranges = [];
    for (let i = 0; i < set.length; i += 1) {
      const ranged = set[i + 1] === "-" && i + 2 < set.length;
      ranges.push([set[i], ranged ? set[i + 2] : set[i]]);
      if (ranged) i += 2;
    }
    return (sign) => ranges.some(([low, high]) => low <= sign && sign <= high) !== inverted;
  }

  // Whether a pattern with *, ? and [sets] matches all of a text, case and all.
  function matches(text, pattern) {
    const wanted = signs(pattern);
    let [i, j, star, mark] = [0, 0, -1, 0];
    while (i < text.length) {
      if (wanted[j] === "*") [star, mark, j] = [j, i, j + 1];
      else if (j < wanted.length && wanted[j](text[i])) { i += 1; j += 1; }
      else if (star >= 0) { mark += 1; i = mark; j = star + 1; }
      else return false;
    }
    while (wanted[j] === "*") j += 1;
    return j === wanted.length;
  }

  // `1 operand`, `4 operands`.
  const counted = (count, what) => `${count} ${what}${Number(count) === 1 ? "" : "s"}`;

  // The integers to choose from: `0 or 1`; many in equal steps are `0 to 15`.
  function oneOf(values) {
    if (values.length > 4) {
      const step = values[1] - values[0];
      const last = values[values.length - 1];
      if (step > 0 && values.every((value, i) => value === values[0] + i * step)) {
        return `${values[0]} to ${last}${step > 1 ? ` in steps of ${step}` : ""}`;
      }
    }
    return values.join(" or ");
  }

  return { SPACE, isSpace, strip, rstrip, words, isAscii, points, repr, nearest, matches, counted, oneOf };
})();
