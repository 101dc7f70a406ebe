// The frames of one server: what each step did, and which squares of memory belong to which request.
"use strict";

const mostSquares = 512; // of the picture of the KV memory
const ahead = 96; // frames that are fetched at once
const behind = 600; // milliseconds of frames before the moment at which a server is opened
const mostFrames = 30000;

class Frames {
  constructor(number) {
    this.number = number;
    this.list = [];
    this.over = true;
    this.generation = 0;
  }

  // begin forgets all frames. Those given are the first of the new ones.
  begin(frames = []) {
    this.generation++;
    this.fetching = undefined;
    this.list = [];
    this.over = false;
    this.error = "";
    this.rows = new Map(); // request → row
    this.squares = undefined;
    for (const f of frames) this.take(f);
  }

  // open begins anew with other settings, shortly before a moment.
  async open(settings, past, at) {
    this.begin();
    const mine = this.generation;
    this.settings = settings;
    this.past = past;
    try {
      await simulator.open(this.number, settings, past, Math.max(0, at - behind));
      this.from = Math.max(0, at - behind);
      if (mine === this.generation) await this.fetchTo(at);
    } catch (error) {
      if (mine !== this.generation) return;
      this.over = true;
      this.error = error.message;
    }
  }

  // fetch asks for more frames, once at a time.
  fetch() {
    if (this.over || this.fetching) return this.fetching;
    const mine = this.generation;
    this.fetching = simulator.next(this.number, ahead).then((frames) => {
      if (mine !== this.generation) return;
      this.fetching = undefined;
      this.over = frames.length < ahead || this.list.length > mostFrames;
      for (const f of frames) this.take(f);
    });
    return this.fetching;
  }

  // fetchTo asks for frames up to a moment.
  async fetchTo(at) {
    const mine = this.generation;
    while (!this.over && mine === this.generation && (this.end() <= at || !this.list.length)) await this.fetch();
  }

  // has reports whether the frames around a moment are known, or soon will be.
  has(at) {
    return this.list.length > 0 && at >= (this.from ? this.list[0].to : 0) && (this.over || at <= this.end() + 1000);
  }

  // end returns when the last known frame ends.
  end() { return this.list.length ? this.list.at(-1).to : 0; }

  // take gives the requests of a frame their rows and squares, which they keep.
  take(frame) {
    const present = new Set(frame.running.filter((r) => r.does !== "evicted").map((r) => r.id));
    for (const [id] of this.rows) if (!present.has(id)) this.rows.delete(id);
    const used = new Set(this.rows.values());
    for (const id of present) {
      if (this.rows.has(id)) continue;
      let row = 0;
      while (used.has(row)) row++;
      used.add(row);
      this.rows.set(id, row);
    }
    frame.rows = new Map(this.rows);
    this.squares = frame.squares = placeSquares(frame, this.squares, this.settings?.includes("memory.policy=contiguous"));
    const last = this.list.at(-1);
    // Of the first frame of a server that is opened in the middle, the tokens before it are not known.
    const before = (r) => last ? last.running.find((o) => o.id === r.id)?.tokens ?? 0 : r.tokens - 1;
    frame.gained = new Map(frame.running.map((r) => [r.id, r.tokens - before(r)]));
    this.list.push(frame);
  }

  // index returns the number of the frame that runs at a moment, -1 before the first.
  index(at) {
    let low = 0, high = this.list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.list[middle].from <= at) low = middle + 1; else high = middle;
    }
    return low - 1;
  }

  at(moment) { return this.list[this.index(moment)]; }

  // life says what is known of a request: when it came, how long it waited, and how far it is.
  life(id, moment) {
    const frame = this.at(moment);
    if (!frame) return "";
    const waits = frame.waiting.find((w) => w.id === id);
    if (waits) return `Request #${id} came ${milliseconds(moment - waits.arrived)} ago with a prompt of ${number(waits.prompt)} tokens, and waits for a place.`;
    const i = this.index(moment);
    let last;
    for (let k = i; k >= 0 && !last; k--) last = this.list[k].running.find((r) => r.id === id);
    if (!last || last.arrived > moment) return `Request #${id} has not come yet, or left before these steps.`;
    const words = [`Request #${id} came ${milliseconds(moment - last.arrived)} ago.`];
    const first = this.list.findIndex((f) => f.running.some((r) => r.id === id && r.does !== "stall"));
    if (first > 0) words.push(`It waited ${milliseconds(this.list[first].from - last.arrived)} for its first step.`);
    words.push(last.done ? `Its answer of ${number(last.output)} tokens is complete.` : `${number(last.tokens)} of ${number(last.output)} tokens of its answer are written,`);
    if (!last.done) words.push(`and the keys and values of ${number(last.stored)} tokens are in memory.`);
    return words.join(" ");
  }
}

// placeSquares returns which squares belong to which request: a list for each request, in the order in which it took
// them, and the free ones, in the order in which they will be taken. As in vLLM's pool of blocks, a request
// takes from the head, and gives back to the tail, its last block first. A contiguous reservation takes the first
// gap that is long enough. The simulation counts blocks only; which ones they are is drawn.
function placeSquares(frame, before, contiguous) {
  const count = Math.max(1, Math.min(mostSquares, Math.ceil(frame.slots / 16)));
  const size = frame.slots / count;
  const owned = new Map(before ? [...before.owned].map(([id, list]) => [id, [...list]]) : []);
  const free = before ? [...before.free] : Array.from({ length: count }, (_, i) => i);
  const wanted = new Map();
  const shared = Math.max(0, ...frame.running.map((r) => r.cached ?? 0));
  if (shared > 0) wanted.set(-1, Math.ceil(shared / size));
  for (const r of frame.running)
    if (r.does !== "evicted" && !r.done) wanted.set(r.id, Math.ceil(Math.max(0, r.room - (r.cached ?? 0)) / size));
  for (const [id, list] of owned) {
    const keep = wanted.get(id) ?? 0;
    while (list.length > keep) free.push(list.pop());
    if (!list.length) owned.delete(id);
  }
  for (const [id, n] of wanted) {
    const list = owned.get(id) ?? [];
    if (contiguous && !list.length) list.push(...gap(free, n));
    while (list.length < n && free.length) list.push(free.shift());
    if (list.length) owned.set(id, list);
  }
  return { owned, free, count, size };
}

// gap takes the first n squares that follow each other out of the free ones, or none.
function gap(free, n) {
  free.sort((a, b) => a - b);
  for (let i = 0; i + n <= free.length; i++)
    if (free[i + n - 1] - free[i] === n - 1) return free.splice(i, n);
  return [];
}

// milliseconds writes a time.
const milliseconds = (t) => t >= 1000 ? `${(t / 1000).toFixed(2)} s` : t >= 100 ? `${t.toFixed(0)} ms` : `${t.toFixed(1)} ms`;

// What the time of a step is spent on, in the order of the bar.
const parts = [
  ["weights", "reading weights"], ["kv", "KV cache"], ["scores", "attention scores"], ["activations", "activations"],
  ["arithmetic", "arithmetic beyond reading"], ["exchange", "communication"], ["fixed", "fixed times of kernels"], ["host", "the host"],
  ["rest", "drafts and transfers"],
];

// What binds a step, in words.
const bounds = { compute: "arithmetic", latency: "fixed times of kernels", network: "communication", host: "the host", "unfilled tiles": "tiles that are not full" };

// most returns the part on which most of a step is spent, and its share.
function most(frame) {
  const part = parts.reduce((a, b) => frame.parts[b[0]] > frame.parts[a[0]] ? b : a);
  return { key: part[0], name: part[1], share: frame.parts[part[0]] / (frame.to - frame.from) };
}

// inWords says what there is at a moment, for readers who do not see the picture.
function inWords(frames, at) {
  if (frames.error) return frames.error;
  const f = frames.at(at);
  if (!f) return "Nothing runs at this moment.";
  const prefills = f.running.filter((r) => r.does === "prefill");
  const decoding = f.running.filter((r) => r.does === "decode").length;
  const list = [`Step ${number(f.step)}, ${milliseconds(f.to - f.from)} long:`,
    `${decoding} ${decoding === 1 ? "request decodes" : "requests decode"}${prefills.length ? "," : "."}`];
  if (prefills.length) list.push(`${number(prefills.reduce((n, r) => n + r.new, 0))} prompt tokens of ${prefills.slice(0, 4).map((r) => "#" + r.id).join(", ")}${prefills.length > 4 ? " and others" : ""} are computed.`);
  const evicted = f.running.filter((r) => r.does === "evicted").length, held = f.running.filter((r) => r.does === "hold").length;
  if (held) list.push(`${held} ${held === 1 ? "answer is" : "answers are"} complete and held back.`);
  if (evicted) list.push(`${evicted} lost their place.`);
  const waiting = f.waiting.length + evicted, { name, share } = most(f);
  list.push(`${waiting === 0 ? "Nobody waits" : waiting === 1 ? "One waits" : `${waiting} wait`}. KV memory ${Math.round(100 * f.used / Math.max(1, f.capacity))}% in use.`);
  list.push(`The step is bound by ${bounds[f.bound] ?? f.bound}; its largest part is ${name} (${Math.round(100 * share)}%).`);
  return list.join(" ");
}
