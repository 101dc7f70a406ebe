// The state of the page: settings as --set takes them, which the address holds.
"use strict";

// steps returns round numbers from low to high, as many a decade as digits has.
function steps(low, high, digits = [1, 1.5, 2, 3, 4, 5, 6, 8]) {
  const list = [];
  for (let decade = 0.01; decade <= high; decade *= 10)
    for (const d of digits) list.push(Number((d * decade).toPrecision(3)));
  return list.filter((x) => x >= low && x <= high);
}

const number = (x) => Number(x).toLocaleString("en");

// What the page has a control for. A slider stops at the values listed, the first of which may be
// "" for the simulator's own choice.
const controls = [
  { id: "model", key: "model", group: "Server", label: "Model", initial: "llama-3.1-8b" },
  { id: "hardware", key: "hardware", group: "Server", label: "Accelerator", initial: "h100-sxm" },
  { id: "tensor", key: "parallelism.tensor", group: "Server", label: "How many", initial: "1",
    stops: [1, 2, 4, 8], show: (x) => x === "1" ? "1 accelerator" : `${x}, tensor parallel` },
  { id: "memory", key: "memory.tokens", group: "Server", label: "KV memory", initial: "",
    stops: [...steps(500, 1e6, [1, 1.5, 2, 3, 5, 7]), ""], show: (x) => x === "" ? "all that is left" : `${number(x)} tokens` },
  { id: "rate", key: "workload.rate", group: "Users", label: "Rate", initial: "8", unit: "/s",
    stops: steps(0.1, 200), show: (x) => x === "1" ? "1 request/s" : `${x} requests/s` },
  { id: "prompt", key: "workload.prompt.mean", group: "Users", label: "Prompt, mean", initial: "500",
    stops: steps(10, 6000), show: (x) => `${number(x)} tokens` },
  { id: "output", key: "workload.output.mean", group: "Users", label: "Answer, mean", initial: "150",
    stops: steps(2, 1500), show: (x) => `${number(x)} tokens` },
  { id: "batching", key: "batching", group: "Scheduler", label: "Policy", initial: "vllm-v1" },
  { id: "limit", group: "Scheduler", label: "Batch limit", initial: "",
    stops: ["", 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512], show: (x) => x === "" ? "the policy's own" : `${x} requests` },
  { id: "budget", group: "Scheduler", label: "Chunk budget", initial: "",
    stops: ["", 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384], show: (x) => x === "" ? "the policy's own" : `${number(x)} tokens a step` },
  { id: "draft", key: "speculation.tokens", group: "Scheduler", label: "Speculation", initial: "0",
    stops: [0, 1, 2, 3, 4, 5, 6, 8], show: (x) => x === "0" ? "off" : `${x} drafted tokens (EAGLE)` },
  { id: "accept", key: "speculation.acceptance", group: "Scheduler", label: "Drafts accepted", initial: "0.7",
    stops: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95], show: (x) => `${Math.round(100 * x)}%` },
];

// policyOf returns the description of a batching policy.
const policyOf = (options, name) => options.batching.find((p) => p.name === name) ?? { limit: "", budget: "" };

// initialState returns the state in which nothing is changed.
function initialState() {
  const state = { values: {}, more: [], beside: "", at: 0, past: [] };
  for (const c of controls) state.values[c.id] = c.initial;
  return state;
}

// settingsOf returns the settings of a state, the policy first, since its parameters follow it.
function settingsOf(state, options) {
  const { limit, budget } = policyOf(options, state.values.batching);
  const list = [];
  for (const c of controls) {
    const value = state.values[c.id];
    if (value === c.initial || c.id === "accept" || c.id === "draft") continue;
    const key = c.id === "limit" ? limit && `batching.${limit}` : c.id === "budget" ? budget && `batching.${budget}` : c.key;
    if (key) list.push(`${key}=${value}${c.unit ?? ""}`);
  }
  if (state.values.draft !== "0")
    list.push("speculation.method=eagle", `speculation.tokens=${state.values.draft}`, `speculation.acceptance=${state.values.accept}`);
  return [...list, ...state.more];
}

// changed returns a state that differs from another one by settings as --set takes them. A setting replaces
// the one of the same key.
function changed(state, options, settings) {
  const copy = { ...state, values: { ...state.values }, more: [...state.more] };
  for (const setting of settings) {
    const [key, value = ""] = setting.split(/=(.*)/s);
    copy.more = copy.more.filter((s) => !s.startsWith(key + "="));
    if (key === "batching") copy.values.limit = copy.values.budget = "";
    const control = controls.find((c) => c.key === key);
    if (control) copy.values[control.id] = control.initial;
    place(copy, options, key, value);
  }
  return copy;
}

// settingsIn splits what a reader types into settings. A name alone is a policy.
const settingsIn = (text) => text.split(/\s+/).filter(Boolean).map((s) => s.includes("=") ? s : `batching=${s}`);

// besideOf returns the state of the server beside the first one. A policy keeps the batch limit and the chunk
// budget, where it has such parameters.
function besideOf(state, options) {
  const other = changed(state, options, settingsIn(state.beside));
  for (const id of ["limit", "budget"])
    if (!other.values[id]) other.values[id] = state.values[id];
  return other;
}

// phasesOf returns the phases of a run whose requests came by other settings before, for the simulator.
function phasesOf(state, options) {
  return state.past.map(({ until, values }) =>
    ({ until, settings: settingsOf({ ...state, values: { ...state.values, ...values } }, options) }));
}

// addressOf returns the state as the part of an address after #: "play" where nothing is changed, since an empty
// address is the book's.
function addressOf(state, options) {
  const pairs = settingsOf(state, options).map((s) => s.split(/=(.*)/s).slice(0, 2));
  if (state.beside) pairs.push(["beside", state.beside]);
  if (state.at) pairs.push(["at", state.at.toFixed(3)]);
  if (state.past.length) pairs.push(["past", state.past.map((p) => [p.until.toFixed(3), ...Object.entries(p.values).map((v) => v.join(":"))].join(",")).join(";")]);
  return pairs.map(([k, v]) => `${k}=${encodeURIComponent(v)}`).join("&") || "play";
}

// stateOf reads such an address. What has no control is kept as it is.
function stateOf(address, options) {
  const pairs = address.split("&").filter((pair) => pair && pair !== "play").map((pair) => {
    const [key, raw = ""] = pair.split(/=(.*)/s);
    try { return [key, decodeURIComponent(raw)]; } catch { return [key, raw]; }
  });
  const state = initialState();
  for (const [key, value] of pairs) {
    if (key === "beside") state.beside = value;
    else if (key === "at") state.at = Math.max(0, Number(value) || 0);
    else if (key === "past") state.past = pastOf(value);
    else if (key !== "speculation.method") place(state, options, key, value);
  }
  return state;
}

// pastOf reads the phases of an address, each as "milliseconds,control:value,…".
function pastOf(text) {
  const list = [];
  for (const part of text.split(";").slice(0, 100)) {
    const [until, ...values] = part.split(",");
    if (!(Number(until) > (list.at(-1)?.until ?? 0))) continue;
    const known = values.map((v) => v.split(":")).filter(([id, v]) => v && controls.some((c) => c.id === id && c.group === "Users"));
    list.push({ until: Number(until), values: Object.fromEntries(known) });
  }
  return list;
}

// place puts a setting where its control is, or among the others.
function place(state, options, key, value) {
  const control = controls.find((c) => c.key === key);
  const plain = control?.unit && value.endsWith(control.unit) ? value.slice(0, -control.unit.length) : value;
  const parameter = options.batching.flatMap((p) => [[p.limit, "limit"], [p.budget, "budget"]])
    .find(([name]) => name && key === `batching.${name}`);
  if (parameter) state.values[parameter[1]] = value;
  else if (control && (!control.stops || control.stops.map(String).includes(plain))) state.values[control.id] = plain;
  else state.more.push(`${key}=${value}`);
}
