// The language of the book's sentences. A text has words, and in braces:
//   {readers}                a handle: an input that the reader drags
//   {=bytes.weights B}       a figure: a formula over the state at hand, its unit, and perhaps a tone: {=here.ms ms weights}
//   {if fits: A; elif c: B; else: C}   words that depend on the run
//   {over: A | B}            a fraction, for boards
//   {b: …}, {weights: …}     emphasis, or the tone of what is spoken of
// A formula has numbers, 'strings', + - * / < <= > >= = != and or not ( ), names and functions. A name is a handle, a
// figure of the chapter, or a field of a run ("here.ms"; a field alone is of the run "here"). The functions:
//   min max abs, tenths(x) is a share rounded to tenths of a percent, binds(memory[, run]), most(kv[, run]) of a step; before(x) is x where a question was asked;
//   at(handle, value, x) is x with another handle; rises(x, handle) and falls(x, handle) say whether x changes with the
//   handle's next stop, and grows(x, handle, k) whether it then grows to at least k times. In arithmetic a
//   condition counts as 1 or 0.
// This file needs no browser.
"use strict";
const sentences = (() => {
  const tones = ["weights", "kv", "arithmetic", "prompt", "alarm", "big"];

  // rounded writes a number with three significant digits or more.
  function rounded(x, digits = 3) {
    if (!Number.isFinite(x)) return "–";
    const size = x === 0 ? 0 : Math.floor(Math.log10(Math.abs(Number(x.toPrecision(digits)))));
    const places = Math.max(0, Math.min(6, digits - 1 - size));
    return x.toLocaleString("en", { minimumFractionDigits: x === 0 ? 0 : places, maximumFractionDigits: x === 0 ? 0 : places });
  }

  // scaled writes a value with the largest of the units that keeps it above one.
  const scaled = (x, names, base = 1000) => {
    let i = 0;
    while (i < names.length - 1 && Math.abs(Number(x.toPrecision(3))) >= base) { x /= base; i++; }
    return `${rounded(x)} ${names[i]}`;
  };

  // units writes values: each takes the unit of the simulator's records (ms, bytes, FLOP, shares).
  const units = {
    ms: (x) => Math.abs(x) < 1 ? scaled(x * 1e6, ["ns", "µs", "ms"]) : scaled(x, ["ms", "s"]),
    B: (x) => scaled(x, ["B", "kB", "MB", "GB", "TB"]),
    "B/s": (x) => scaled(x, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]),
    FLOP: (x) => scaled(x, ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"]),
    "FLOP/s": (x) => scaled(x, ["FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"]),
    "%": (x) => `${rounded(100 * x, x >= 0.9 && x < 1 ? 3 : 2)} %`, // near all, what is missing counts
    "%1": (x) => `${(100 * x).toFixed(1)} %`, // shares that are added up
    "×": (x) => `${rounded(x, 2)} times`,
    "/s": (x) => `${rounded(x)}/s`,
    $: (x) => `$${x.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`,
    n: (x) => Number.isFinite(x) ? Math.round(x).toLocaleString("en") : "–",
    x: (x) => rounded(x),
    billion: (x) => `${rounded(x / 1e9)} billion`,
    words: (x) => String(x),
  };

  // write formats a value in a unit.
  function write(value, unit) {
    if (typeof value === "string") return value;
    return value === undefined ? "–" : units[unit](Number(value));
  }

  // cut splits a text at a sign outside of braces, parentheses and quotes, n times at most.
  function cut(text, sign, n = Infinity) {
    const list = [];
    let depth = 0, from = 0;
    for (let i = 0; i < text.length; i++) {
      if ("{(".includes(text[i])) depth++;
      else if ("})".includes(text[i])) depth--;
      else if (depth === 0 && text.startsWith(sign, i) && list.length < n) { list.push(text.slice(from, i)); from = i + sign.length; }
    }
    return [...list, text.slice(from)];
  }

  const parsed = new Map();

  // parse reads a text into strings, {handle}, {figure, unit, tone}, {cases: [[condition, parts]…]}, {over} and {tone, parts}.
  function parse(text) {
    if (!parsed.has(text)) parsed.set(text, read(text));
    return parsed.get(text);
  }

  function read(text) {
    const parts = [];
    for (let i = 0; i < text.length;) {
      const open = text.indexOf("{", i);
      if (open < 0) { parts.push(text.slice(i)); break; }
      if (open > i) parts.push(text.slice(i, open));
      let depth = 1, end = open + 1;
      for (; depth > 0; end++) {
        if (end >= text.length) throw new Error(`"{" without "}" in: ${text}`);
        if (text[end] === "{") depth++; else if (text[end] === "}") depth--;
      }
      parts.push(braces(text.slice(open + 1, end - 1).trim()));
      i = end;
    }
    return parts;
  }

  function braces(inner) {
    if (inner.startsWith("=")) {
      const list = inner.slice(1).trim().split(/\s+/);
      const tone = tones.includes(list.at(-1)) && list.length > 2 ? list.pop() : "";
      const unit = list.pop();
      if (!units[unit] || !list.length) throw new Error(`{${inner}}: a figure needs a formula and a unit, one of ${Object.keys(units).join(" ")}`);
      return { figure: list.join(" "), unit, tone };
    }
    if (inner.startsWith("if ")) {
      const cases = [];
      for (const part of cut(inner, ";").reduce((list, p) => (/^\s*(if|elif|else)\b/.test(p) ? list.push(p) : list[list.length - 1] += ";" + p, list), [])) {
        const [head, words = ""] = cut(part.trim(), ":", 1);
        cases.push([head === "else" ? "" : head.replace(/^(el)?if /, ""), read(words.trim())]);
      }
      return { cases };
    }
    const [head, rest] = cut(inner, ":", 1);
    if (rest !== undefined && head === "over") return { over: cut(rest, "|", 1).map((t) => read(t.trim())) };
    if (rest !== undefined && (head === "b" || tones.includes(head))) return { tone: head, parts: read(rest.trim()) };
    if (!/^\w+$/.test(inner)) throw new Error(`{${inner}} is neither a handle nor a figure, which begins with "="`);
    return { handle: inner };
  }

  const token = /\s*(?:([\d.]+(?:e[+-]?\d+)?)|'([^']*)'|([A-Za-z_][\w.]*)|(<=|>=|!=|[-+*/()<>=,]))/y;
  const formulas = new Map();

  // formula reads a formula into a tree: [operation, …operands], a number, {text} or {name}.
  function formula(text) {
    if (formulas.has(text)) return formulas.get(text);
    const list = [];
    for (token.lastIndex = 0; token.lastIndex < text.trimEnd().length;) {
      const at = token.lastIndex, m = token.exec(text);
      if (!m) throw new Error(`${text}: unexpected "${text.slice(at)}"`);
      list.push(m[1] !== undefined ? { number: Number(m[1]) } : m[2] !== undefined ? { text: m[2] } : m[3] ? { name: m[3] } : { sign: m[4] });
    }
    let i = 0;
    const is = (...signs) => signs.includes(list[i]?.sign ?? (["and", "or", "not"].includes(list[i]?.name) ? list[i].name : undefined));
    const take = () => { const t = list[i++]; return t.sign ?? t.name; };
    const chain = (below, ...signs) => () => {
      let left = below();
      while (is(...signs)) left = [take(), left, below()];
      return left;
    };
    const atom = () => {
      if (is("-")) { i++; return ["-", 0, atom()]; }
      if (is("(")) { i++; const x = whole(); if (!is(")")) throw new Error(`${text}: ")" is missing`); i++; return x; }
      const t = list[i++];
      if (t?.number !== undefined) return t.number;
      if (t?.text !== undefined) return t;
      if (!t?.name) throw new Error(`${text}: something is missing`);
      if (!is("(")) return t;
      const call = [t.name];
      do { i++; call.push(whole()); } while (is(","));
      if (!is(")")) throw new Error(`${text}: ")" is missing`);
      i++;
      return call;
    };
    const product = chain(atom, "*", "/"), sum = chain(product, "+", "-"), compared = chain(sum, "<", "<=", ">", ">=", "=", "!=");
    const negated = () => is("not") ? (i++, ["not", negated()]) : compared();
    const both = chain(negated, "and"), whole = chain(both, "or");
    const tree = whole();
    if (i < list.length) throw new Error(`${text}: unexpected "${list[i].sign ?? list[i].name}"`);
    formulas.set(text, tree);
    return tree;
  }

  const plain = {
    "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b,
    "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b, "=": (a, b) => a === b, "!=": (a, b) => a !== b,
    and: (a, b) => a && b, or: (a, b) => a || b, not: (a) => !a, min: Math.min, max: Math.max, abs: Math.abs, tenths: (x) => Math.round(1000 * x) / 1000,
  };
  const runOf = (look, tree) => look.get(tree?.name ?? "here") ?? {};
  const tiny = 1e-9;
  const special = {
    binds: (look, what, run) => runOf(look, run).bound === what.name,
    most: (look, what, run) => {
      const { parts = {} } = runOf(look, run);
      return Object.values(parts).every((ms) => ms <= parts[what.name]);
    },
    at: (look, handle, value, x) => evaluate(x, look.with(handle.name, evaluate(value, look))),
    before: (look, x) => evaluate(x, look.before ?? look),
    rises: (look, x, handle) => { const [a, b] = pair(look, x, handle); return b > a + tiny * Math.abs(a); },
    falls: (look, x, handle) => { const [a, b] = pair(look, x, handle); return b < a - tiny * Math.abs(a); },
    grows: (look, x, handle, k) => { const [a, b] = pair(look, x, handle); return b >= a * evaluate(k, look); },
  };

  // pair is x here and with the next stop of a handle; at its last stop, with the stop before it and here.
  const pair = (look, x, handle) => look.pair(handle.name).map((l) => evaluate(x, l));

  function evaluate(tree, look) {
    if (typeof tree === "number") return tree;
    if (tree.text !== undefined) return tree.text;
    if (tree.name) return look.get(tree.name);
    const [name, ...rest] = tree;
    if (special[name]) return special[name](look, ...rest);
    if (!plain[name]) throw new Error(`there is no function "${name}"`);
    return plain[name](...rest.map((x) => evaluate(x, look)));
  }

  // value is a formula's value at a look: the values of handles, and what the simulator says of them.
  const value = (text, look) => evaluate(formula(text), look);

  // chosen returns the parts of the first case whose condition holds.
  const chosen = (cases, look) => cases.find(([condition]) => !condition || value(condition, look));

  // plainly writes a text without markup, for labels, notes and tests that need no browser.
  function plainly(text, look) {
    const say = (parts) => parts.map((p) => typeof p === "string" ? p : p.handle ? look.show(p.handle) : p.figure ? write(value(p.figure, look), p.unit)
      : p.cases ? say(chosen(p.cases, look)?.[1] ?? []) : p.over ? `(${say(p.over[0])}) / (${say(p.over[1])})` : say(p.parts)).join("");
    return say(parse(text));
  }

  return { parse, value, write, chosen, plainly, rounded };
})();
if (typeof module !== "undefined") module.exports = sentences;
