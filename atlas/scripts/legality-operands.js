// Whether an argument fits an operand: by form, length, value and types of registers. No DOM.
"use strict";

ptxmma.operands = (() => {
  const { reason } = ptxmma.diagnosis;
  const { PARTS, argument: argumentOf, elementKind } = ptxmma.statements;
  const { counted, oneOf } = ptxmma.texts;
  const SHOWN = {
    vector: "a vector",
    register: "a register",
    negated: "a negated predicate",
    immediate: "an integer literal",
    address: "an address",
    sum: "a register and a constant",
    float: "a floating-point literal",
    sink: "'_'",
  };
  const ELEMENTS = {
    integer: SHOWN.immediate,
    single: "a floating-point literal of 32 bits",
    double: "a floating-point literal of 64 bits",
    sink: SHOWN.sink,
  };
  const isFloat = (kind) => kind === "single" || kind === "double";
  const LISTED = 8; // so many registers of a vector are written one by one

  // An operand as it is written, by its name: `{d0, d1, d2, d3}`, `[p]`, `scale-d`.
  function written(variant, name) {
    const operand = variant.operands[name];
    if (operand.elements) return `{${operand.elements.join(", ")}}`;
    if (operand.accepts[0] === "address") return `[${name}]`;
    if (operand.accepts[0] !== "vector" || operand.registers === null) return name;
    const registers = Array.from({ length: variant.evaluate(operand.registers) }, (_, number) => `${name}${number}`);
    if (registers.length > LISTED) registers.splice(2, registers.length - 3, "…");
    return `{${registers.join(", ")}}`;
  }

  // What is wrong with the argument that stands in an operand's place.
  function* fits(variant, name, argument, statement) {
    const operand = variant.operands[name];
    argument = writtenOut(argument, statement);
    const summed = argument.shape === "sum" && operand.sum && operand.role === "source";
    if (!operand.accepts.includes(argument.shape) && !(summed && operand.accepts.includes("register"))) {
      const wanted = operand.accepts.map((shape) => SHOWN[shape]).join(" or ");
      yield reason("operand.kind", `${name} is ${SHOWN[argument.shape]}; it must be ${wanted}`);
      return;
    }
    if (operand.elements) {
      yield* elementsOf(variant, name, operand.elements, argument, statement);
      return;
    }
    if (operand.registers !== null && argument.shape === "vector") {
      const length = variant.evaluate(operand.registers);
      if (argument.value !== length) {
        yield reason("operand.length", `${name} has ${counted(argument.value, "register")}; it must have ${length}`);
      }
    }
    if (argument.shape === "immediate") yield* inRange(variant, name, operand, argument.value);
    else if (argument.shape === "vector") yield* elementsFit(variant, name, operand, argument);
    else if (argument.shape === "address" && !argument.registers.length) {
      yield reason("operand.address", `${name} is an immediate address; it must be a register or a variable`);
    }
    const { special } = variant.row.family.isa.data;
    const fault = specialFault(variant, name, argument, statement) || componentFault(name, argument, statement, special);
    if (fault) yield fault;
    else yield* typed(variant, name, argument, statement);
  }

  // How many registers a vector variable has; 0 for the type of a single register.
  function vectorLength(kind) {
    const found = /^v([0-9])\./.exec(kind || "");
    return found ? Number(found[1]) : 0;
  }

  // The type of a register, or of a component of a vector variable; undefined where nobody declares it.
  function typeOf(text, statement, special) {
    const found = statement.declared.get(text) || special[text];
    if (found || !text.includes(".")) return found;
    const whole = statement.declared.get(text.split(".")[0]);
    return vectorLength(whole) ? whole.slice(3) : undefined;
  }

  // A vector variable as the vector of its components; any other argument as it is.
  function writtenOut(argument, statement) {
    if (argument.shape !== "register") return argument;
    const [text] = argument.registers;
    const length = vectorLength(statement.declared.get(text));
    if (!length) return argument;
    return { shape: "vector", value: length, registers: [...PARTS.slice(0, length)].map((part) => `${text}.${part}`), literals: 0 };
  }

  // Why a special register may not stand there: ptxas takes one in vectors and as an address, and adds to one.
  function specialFault(variant, name, argument, statement) {
    const { special } = variant.row.family.isa.data;
    const found = argument.registers.find((one) => special[one] && statement.declared.get(one) === undefined);
    if (!found || argument.shape === "sum") return null;
    if (argument.shape === "vector") return specialInVector(variant, name, argument, found);
    if (argument.shape === "address" && variant.operands[name].space === null) return null;
    return reason("operand.special", `${name} is the special register ${found}; move it into a register before`);
  }

  // Why a vector may not hold a special register: that of some rows, and a component beside a literal.
  function specialInVector(variant, name, argument, found) {
    const allowed = variant.row.record.elements[name];
    if (allowed && !allowed.includes("special")) {
      return reason("operand.special", `${name}: the special register ${found} may not stand in this vector`);
    }
    const { special } = variant.row.family.isa.data;
    const part = argument.registers.find((text) => text.includes(".") && special[text]);
    if (!argument.literals || !part) return null;
    const what = `${name}: ${part}, a component of a special register, may not stand beside a literal`;
    return reason("operand.special", what);
  }

  // The fault of a component of what is not a vector.
  function componentFault(name, argument, statement, special) {
    for (const text of argument.registers) {
      const [whole, part] = text.split(".");
      const kind = part && (statement.declared.get(whole) || special[whole]);
      if (kind && !vectorLength(kind)) {
        return reason("operand.component", `${name}: ${whole} is .${kind}, not a vector: it has no component .${part}`);
      }
    }
    return null;
  }

  function* inRange(variant, name, operand, value) {
    if (operand.values !== null) {
      const allowed = variant.values(operand);
      if (!allowed.some((one) => BigInt(one) === value)) {
        yield reason("operand.range", `${name} is ${value}; it must be ${oneOf(allowed)}`);
      }
    } else if (operand.valid && !variant.allows(operand.valid, Number(value))) {
      yield reason("operand.range", `${name} is ${value}; the rule is ${operand.valid.text}`);
    }
  }

  function* elementsFit(variant, name, operand, argument) {
    const sinks = argument.registers.filter((one) => one === "_").length;
    const { literals } = argument;
    if (!sinks && !literals) return;
    const limited = variant.row.record.elements[name];
    const every = argument.registers.map(elementKind);
    const kinds = [...new Set(every)];
    if (sinks && operand.role !== "destination") {
      yield reason("operand.sink", `${name}: '_' may not stand where a value is read`);
    } else if (literals && operand.role !== "source") {
      yield reason("operand.literal", `${name}: a literal may not stand where a result is written`);
    } else if (kinds.includes("integer") && kinds.some(isFloat) && unlikeLiterals(variant, name, every)) {
      const what = "literals of integers and of floating point stand side by side, or 0f before an integer";
      yield reason("operand.literal", `${name}: ${what}`);
    } else if (sinks + literals === argument.value) {
      if (sinks || !typedByLiterals(variant, name, kinds)) {
        yield reason("operand.vector", `${name} names no register; at least one must be`);
      }
    } else if (limited) {
      for (const kind of kinds) {
        if (ELEMENTS[kind] && !limited.includes(kind) && !(isFloat(kind) && limited.includes("float"))) {
          const code = kind === "sink" ? "operand.sink" : "operand.literal";
          yield reason(code, `${name}: ${ELEMENTS[kind]} may not stand in this vector`);
        }
      }
    }
  }

  // Whether literals of integers and of floating point do not go with each other in a vector: side by side, or a
  // literal of 32 bits before an integer where no register has 64.
  function unlikeLiterals(variant, name, kinds) {
    const meet = (one, other) => one === "integer" && isFloat(other);
    const pairs = kinds.slice(1).map((kind, place) => [kinds[place], kind]);
    if (pairs.some(([one, other]) => meet(one, other) || meet(other, one))) return true;
    const single = kinds.indexOf("single");
    if (single < 0 || (variant.registerTypes(name) || []).includes("f64")) return false;
    return kinds.lastIndexOf("integer") > single;
  }

  // Whether literals of these kinds alone give a vector its type.
  function typedByLiterals(variant, name, kinds) {
    const allowed = variant.registerTypes(name) || [];
    if (!kinds.includes("integer")) {
      if (allowed.includes("f64")) return true;
      const doubles = (variant.row.record.elements[name] || []).includes("double");
      return allowed.includes("f32") && (doubles || !kinds.includes("double"));
    }
    const { holds } = variant.operands[name];
    if (holds === null) return false;
    const { bits, registers } = variant.row.family.isa.data.types[variant.fields[holds]];
    return allowed.includes(`s${bits}`) && registers.includes(`s${bits}`);
  }

  function* elementsOf(variant, name, wanted, argument, statement) {
    if (argument.value !== wanted.length) {
      yield reason("operand.length", `${name} has ${counted(argument.value, "element")}; it must have ${wanted.length}`);
      return;
    }
    for (const [i, inner] of wanted.entries()) {
      yield* fits(variant, inner, argumentOf(argument.registers[i]), statement);
    }
    const { special } = variant.row.family.isa.data;
    const types = new Set(argument.registers.map((one) => typeOf(one, statement, special)).filter((one) => one));
    if (new Set([...types].map((kind) => kind.replace(/\D/g, ""))).size > 1) {
      const shown = [...types].sort().map((kind) => `.${kind}`).join(", ");
      yield reason("operand.type", `${name} has registers of unlike widths: ${shown}`);
    }
  }

  function* typed(variant, name, argument, statement) {
    const allowed = variant.registerTypes(name);
    if (!allowed) return;
    const { special } = variant.row.family.isa.data;
    const types = argument.registers.map((one) => typeOf(one, statement, special));
    if (argument.shape === "vector" && (argument.literals || new Set(types.filter((one) => one)).size > 1)) {
      const fault = unlike(variant, name, argument, statement);
      if (fault) {
        yield fault;
        return;
      }
    }
    for (const [place, register] of argument.registers.entries()) {
      const kind = types[place];
      if (!kind || allowed.includes(kind)) continue;
      if (argument.shape === "address" && special[register] && kind !== "pred" && !vectorLength(kind)) continue;
      const wanted = allowed.map((word) => `.${word}`).join(", ");
      yield reason("operand.type", `${name}: ${register} is .${kind}; it must be ${wanted}`);
      return;
    }
  }

  // The type of each element of a vector, and the kind of each literal; undefined for `_`, and where nobody
  // declares it. A floating-point literal as wide as a type of the groups is of that type.
  function elementTypes(argument, statement, special, groups) {
    return argument.registers.map((text) => {
      const kind = elementKind(text);
      if (kind === "register") return typeOf(text, statement, special);
      if (kind === "sink") return undefined;
      const own = `f${{ single: 32, double: 64 }[kind]}`;
      return groups.some((group) => group.includes(own)) ? own : kind;
    });
  }

  // The fault of neighbours in a vector that are not similarly typed.
  function unlike(variant, name, argument, statement) {
    const { special, similar } = variant.row.family.isa.data;
    for (const groups of Object.values(similar)) {
      const types = elementTypes(argument, statement, special, groups);
      const groupOf = (type) => groups.findIndex((group) => group.includes(type));
      for (let place = 0; place + 1 < types.length; place += 1) {
        const [one, other] = [groupOf(types[place]), groupOf(types[place + 1])];
        if (one < 0 || other < 0 || one === other) continue;
        const [first, second] = argument.registers.slice(place, place + 2);
        const what = `${name}: ${first} and ${second} stand side by side in a vector, and are not similarly typed`;
        return reason("operand.type", what);
      }
    }
    return null;
  }

  return { fits, written, typeOf };
})();
