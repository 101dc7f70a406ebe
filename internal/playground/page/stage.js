// A stage: the frames of one scenario, where its requests and their KV blocks are, and a canvas.
"use strict";

const mostCells = 512; // squares of the KV map
const ahead = 96; // frames that are fetched at once
const mostFrames = 30000;

// Colours of requests in turn: Okabe and Ito's, which colour-blind people tell apart, and lighter ones.
const hues = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8c6bb1", "#b8ad1c"];
const colourOf = (id) => hues[id % hues.length];

// What a step is spent on, in the order of the bar.
const parts = [
  ["weights", "reading weights", "#0072b2"], ["cache", "reading KV cache", "#56b4e9"], ["arithmetic", "arithmetic", "#d55e00"],
  ["exchange", "exchange", "#cc79a7"], ["fixed", "fixed times of kernels", "#8c929c"], ["host", "host", "#b8ad1c"], ["rest", "drafts and transfers", "#8c6bb1"],
];

class Stage {
  constructor(number, canvas) {
    this.number = number;
    this.canvas = canvas;
    this.frames = [];
    this.over = true;
    this.generation = 0;
  }

  // open begins anew with other settings.
  async open(settings) {
    const mine = ++this.generation;
    this.fetching = undefined;
    this.frames = [];
    this.over = false;
    this.rows = new Map(); // request → row
    this.cells = undefined; // owner of each square, -1 where it is free
    this.error = "";
    try {
      await simulator.open(this.number, settings);
      if (mine === this.generation) await this.fetch();
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
      this.over = frames.length < ahead || this.frames.length > mostFrames;
      for (const f of frames) this.take(f);
    });
    return this.fetching;
  }

  // fetchTo asks for frames up to a time.
  async fetchTo(at) {
    while (!this.over && this.end() < at) await this.fetch();
  }

  // end returns when the last known frame ends.
  end() { return this.frames.length ? this.frames.at(-1).to : 0; }

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
    frame.cells = this.place(frame);
    const last = this.frames.at(-1);
    frame.gained = new Map(frame.running.map((r) => [r.id, r.tokens - (last?.running.find((o) => o.id === r.id)?.tokens ?? 0)]));
    this.frames.push(frame);
  }

  // place gives requests as many squares as they have room: those that they had, and the first free ones.
  // Which square is whose is drawn; how many there are is simulated.
  place(frame) {
    const count = Math.max(1, Math.min(mostCells, Math.ceil(frame.slots / 16)));
    const cells = this.cells ? Int32Array.from(this.cells) : new Int32Array(count).fill(-1);
    const wanted = new Map();
    const shared = Math.max(0, ...frame.running.map((r) => r.cached ?? 0));
    const size = frame.slots / count;
    if (shared > 0) wanted.set(-2, Math.ceil(shared / size));
    for (const r of frame.running)
      if (r.does !== "evicted") wanted.set(r.id, Math.ceil(Math.max(0, r.room - (r.cached ?? 0)) / size));
    const held = new Map();
    for (let i = 0; i < cells.length; i++) {
      const n = (held.get(cells[i]) ?? 0) + 1;
      if (cells[i] === -1) continue;
      if (n > (wanted.get(cells[i]) ?? 0)) cells[i] = -1;
      else held.set(cells[i], n);
    }
    let free = 0;
    for (const [id, n] of wanted)
      for (let has = held.get(id) ?? 0; has < n; has++) {
        while (free < cells.length && cells[free] !== -1) free++;
        if (free < cells.length) cells[free] = id;
      }
    return this.cells = cells;
  }

  // index returns the number of the frame that runs at a time, -1 before the first.
  index(at) {
    let low = 0, high = this.frames.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.frames[middle].from <= at) low = middle + 1; else high = middle;
    }
    return low - 1;
  }

  // words says what there is at a time, for those who do not see the picture.
  words(at) {
    if (this.error) return this.error;
    const i = this.index(at), f = this.frames[i];
    if (!f) return "Nothing runs yet.";
    const prefills = f.running.filter((r) => r.does === "prefill");
    const list = [`Step ${i + 1}, ${milliseconds(f.to - f.from)} long:`];
    const decoding = f.running.filter((r) => r.does === "decode").length;
    list.push(`${decoding} ${decoding === 1 ? "request decodes" : "requests decode"}${prefills.length ? "," : "."}`);
    if (prefills.length) list.push(`${number(prefills.reduce((n, r) => n + r.new, 0))} prompt tokens of ${prefills.map((r) => "#" + r.id).slice(0, 4).join(", ")}${prefills.length > 4 ? " and others" : ""}.`);
    const evicted = f.running.filter((r) => r.does === "evicted").length, held = f.running.filter((r) => r.does === "hold").length;
    if (held) list.push(`${held} ${held === 1 ? "answer is" : "answers are"} complete and held back.`);
    if (evicted) list.push(`${evicted} lost their place.`);
    const waiting = f.waiting.length + evicted;
    list.push(`${waiting === 0 ? "Nobody waits" : waiting === 1 ? "One waits" : `${waiting} wait`}. KV memory ${Math.round(100 * f.used / Math.max(1, f.capacity))}% in use.`);
    const most = parts.reduce((a, b) => f.parts[b[0]] > f.parts[a[0]] ? b : a);
    list.push(`Most of the step is ${most[1]} (${Math.round(100 * f.parts[most[0]] / (f.to - f.from))}%).`);
    return list.join(" ");
  }

  // draw draws what there is at a time.
  draw(at) {
    const { canvas } = this, scale = devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    const pen = new Pen(canvas, scale);
    pen.clear(width, height);
    const i = this.index(at), frame = this.frames[i];
    const room = layout(width, height, pen.em);
    drawQueue(pen, room.queue, frame);
    drawSlots(pen, room.slots, this, i, at);
    drawMemory(pen, room.memory, frame);
    drawStep(pen, room.step, frame);
    drawRoofline(pen, room.roof, this, i);
  }
}

// milliseconds writes a time.
const milliseconds = (t) => t >= 1000 ? `${(t / 1000).toFixed(2)} s` : t >= 100 ? `${t.toFixed(0)} ms` : `${t.toFixed(1)} ms`;

// layout divides a canvas: beside each other, or on a phone below each other.
function layout(width, height, em) {
  const gap = em * 0.9;
  if (width < 34 * em) {
    const strip = 4.2 * em, roof = Math.min(11 * em, width * 0.5), bottom = 11 * em, step = 4.4 * em;
    const slots = height - strip - bottom - step - 3 * gap;
    return {
      queue: { x: 0, y: 0, w: width, h: strip, flat: true },
      slots: { x: 0, y: strip + gap, w: width, h: slots },
      memory: { x: 0, y: strip + slots + 2 * gap, w: width - roof - gap, h: bottom },
      roof: { x: width - roof, y: strip + slots + 2 * gap, w: roof, h: bottom },
      step: { x: 0, y: height - step, w: width, h: step },
    };
  }
  const side = Math.max(13 * em, Math.min(17 * em, width * 0.27)), queue = 6.2 * em, step = 4.4 * em;
  const top = height - step - gap;
  const roof = Math.min(11 * em, top * 0.48);
  return {
    queue: { x: 0, y: 0, w: queue, h: top },
    slots: { x: queue + gap, y: 0, w: width - side - queue - 2 * gap, h: top },
    memory: { x: width - side, y: 0, w: side, h: top - roof - gap },
    roof: { x: width - side, y: top - roof, w: side, h: roof },
    step: { x: 0, y: height - step, w: width, h: step },
  };
}
