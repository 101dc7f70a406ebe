// The pictures of a stage. Each is given a pen, its place on the canvas, and what it shows.
"use strict";

// Pen draws in the colours and the type size of the page.
class Pen {
  constructor(canvas, scale) {
    this.c = canvas.getContext("2d");
    this.c.setTransform(scale, 0, 0, scale, 0, 0);
    const style = getComputedStyle(canvas);
    this.em = parseFloat(style.fontSize);
    this.family = style.fontFamily;
    this.ink = style.getPropertyValue("--ink");
    this.soft = style.getPropertyValue("--soft");
    this.line = style.getPropertyValue("--line");
    this.faint = style.getPropertyValue("--faint");
  }

  clear(w, h) { this.c.clearRect(0, 0, w, h); }

  box(x, y, w, h, colour, alpha = 1) {
    this.c.globalAlpha = alpha;
    this.c.fillStyle = colour;
    this.c.fillRect(x, y, Math.max(w, 0.5), h);
    this.c.globalAlpha = 1;
  }

  text(words, x, y, { colour = this.soft, align = "left", size = 0.85, bold = false } = {}) {
    this.c.font = `${bold ? "600 " : ""}${size * this.em}px ${this.family}`;
    this.c.textAlign = align;
    this.c.textBaseline = "alphabetic";
    this.c.fillStyle = colour;
    this.c.fillText(words, x, y);
  }

  wide(words, size = 0.85) {
    this.c.font = `${size * this.em}px ${this.family}`;
    return this.c.measureText(words).width;
  }

  path(points, colour, width = 1.5) {
    this.c.strokeStyle = colour;
    this.c.lineWidth = width;
    this.c.beginPath();
    points.forEach(([x, y], i) => i ? this.c.lineTo(x, y) : this.c.moveTo(x, y));
    this.c.stroke();
  }

  dot(x, y, r, colour, alpha = 1) {
    this.c.globalAlpha = alpha;
    this.c.fillStyle = colour;
    this.c.beginPath();
    this.c.arc(x, y, r, 0, 2 * Math.PI);
    this.c.fill();
    this.c.globalAlpha = 1;
  }
}

// heading writes the name of a picture and returns where it begins below.
function heading(pen, at, words) {
  pen.text(words, at.x, at.y + pen.em * 0.85, { bold: true, colour: pen.ink, size: 0.82 });
  return at.y + pen.em * 1.35;
}

// drawQueue draws who waits: those that lost their place, then those that came, the first on top. The
// length of a bar is that of the prompt.
function drawQueue(pen, at, frame) {
  const waits = frame ? [...frame.running.filter((r) => r.does === "evicted"), ...frame.waiting] : [];
  const top = heading(pen, at, waits.length ? `Queue: ${waits.length}` : "Queue");
  const height = pen.em * 0.95, gap = 2, columns = at.flat ? Math.max(1, Math.floor(at.w / (5.5 * pen.em))) : 1;
  const wide = at.w / columns, lines = Math.max(1, Math.floor((at.y + at.h - top - pen.em) / (height + gap)));
  const longest = Math.max(1000, ...waits.map((w) => w.prompt));
  waits.slice(0, lines * columns).forEach((w, i) => {
    const x = at.x + (i % columns) * wide, y = top + Math.floor(i / columns) * (height + gap);
    const label = pen.wide("#0000", 0.72) + 4;
    pen.text("#" + w.id, x, y + height * 0.8, { size: 0.72 });
    pen.box(x + label, y + 1, Math.max(3, (wide - label - 6) * w.prompt / longest), height - 2, colourOf(w.id), w.does ? 0.45 : 0.9);
  });
  if (waits.length > lines * columns) pen.text(`and ${waits.length - lines * columns} more`, at.x, at.y + at.h - 2, { size: 0.72 });
  if (!waits.length) pen.text("nobody waits", at.x, top + height * 0.8, { size: 0.75 });
}

// drawSlots draws a row for each request in the batch, over the last steps: prompt chunks are wide, a
// token of an answer is a tick, and what is held back is pale.
function drawSlots(pen, at, stage, i, now) {
  const frame = stage.frames[i];
  const top = heading(pen, at, frame ? `Batch: ${frame.rows.size} ${frame.rows.size === 1 ? "request" : "requests"}` : "Batch");
  const bottom = at.y + at.h - pen.em * 1.2, left = at.x + pen.wide("#0000", 0.72) + 6, width = at.x + at.w - left;
  const most = Math.max(1, Math.floor((bottom - top) / (pen.em * 0.55)));
  const first = Math.max(0, i - 200);
  let tallest = 7;
  for (let k = first; k <= i; k++) for (const row of stage.frames[k].rows.values()) tallest = Math.max(tallest, row);
  const rows = Math.min(tallest + 1, most), height = Math.min(pen.em * 1.5, (bottom - top) / rows);
  const from = windowStart(stage, i, now), x = (t) => left + width * (t - from) / (now - from || 1);
  for (let row = 0; row < rows; row++) pen.box(left, top + row * height + 1, width, height - 2, pen.faint);
  for (let k = i; k >= 0 && stage.frames[k].to > from; k--) drawFrame(pen, stage, stage.frames[k], { x, left, top, rows, height, now });
  if (frame) {
    for (const [id, row] of frame.rows) {
      if (row < rows && height > pen.em * 0.6) pen.text("#" + id, left - 5, top + row * height + height * 0.5 + pen.em * 0.25, { align: "right", size: Math.min(0.72, height / pen.em * 0.75) });
    }
    const hidden = [...frame.rows.values()].filter((row) => row >= rows).length;
    if (hidden) pen.text(`and ${hidden} more below`, left, at.y + at.h - 2, { size: 0.72 });
  }
  pen.text(`the last ${milliseconds(now - from)} →`, at.x + at.w, at.y + at.h - 2, { align: "right", size: 0.72 });
}

// windowStart returns from when on steps are shown: some forty of them.
function windowStart(stage, i, now) {
  const shown = 40;
  if (i < 0) return now - 1;
  const first = stage.frames[Math.max(0, i - shown)];
  return Math.min(first.from, now - 1);
}

// drawFrame draws a step of all rows.
function drawFrame(pen, stage, f, { x, left, top, rows, height, now }) {
  const from = Math.max(left, x(f.from)), to = x(Math.min(f.to, now));
  if (to <= left) return;
  for (const r of f.running) {
    const row = f.rows.get(r.id);
    if (row === undefined || row >= rows) continue;
    const y = top + row * height + 1, tall = height - 2;
    if (r.does === "prefill") pen.box(from, y, to - from - 0.5, tall, colourOf(r.id));
    else if (r.does === "hold") pen.box(from, y, to - from, tall, colourOf(r.id), 0.18);
    else if (r.does === "decode") {
      pen.box(from, y, to - from, tall, colourOf(r.id), 0.28);
      if (f.to > now) continue;
      const tick = Math.max(1.5, Math.min(4, (to - from) * 0.25));
      for (let n = 0; n < Math.max(1, f.gained.get(r.id)); n++) pen.box(to - tick * (1 + 1.6 * n), y, tick, tall, colourOf(r.id));
    }
  }
}

// drawMemory draws the KV memory as squares in the colours of those whose tokens they hold. Room that is
// reserved and empty is pale; what several requests share is striped.
function drawMemory(pen, at, frame) {
  const used = frame ? Math.round(100 * frame.used / Math.max(1, frame.capacity)) : 0;
  const top = heading(pen, at, `KV memory: ${used}% in use`);
  if (!frame) return;
  const count = frame.cells.length, bottom = at.y + at.h - pen.em * 1.2;
  let size = Math.sqrt(at.w * (bottom - top) / count);
  while (Math.floor(at.w / size) * Math.floor((bottom - top) / size) < count && size > 2) size -= 0.25;
  const columns = Math.max(1, Math.floor(at.w / size)), tokens = frame.slots / count;
  const left = new Map(frame.running.map((r) => [r.id, Math.max(0, r.stored - (r.cached ?? 0))]));
  frame.cells.forEach((id, k) => {
    const x = at.x + (k % columns) * size, y = top + Math.floor(k / columns) * size, side = Math.max(1, size - 1.5);
    if (id === -1) return pen.box(x, y, side, side, pen.faint);
    if (id === -2) {
      pen.box(x, y, side, side, pen.soft);
      return pen.box(x, y + side * 0.35, side, side * 0.3, pen.faint);
    }
    const filled = Math.min(1, Math.max(0, (left.get(id) ?? 0) / tokens));
    left.set(id, (left.get(id) ?? 0) - tokens);
    pen.box(x, y, side, side, colourOf(id), 0.3);
    if (filled > 0) pen.box(x, y + side * (1 - filled), side, side * filled, colourOf(id));
  });
  const each = Math.round(tokens);
  pen.text(each <= 16 ? `a square is a block of ${each} tokens` : `a square is ${number(each)} tokens`, at.x, at.y + at.h - 2, { size: 0.72 });
}

// drawStep draws what the step is spent on.
function drawStep(pen, at, frame) {
  const top = heading(pen, at, frame ? `This step: ${milliseconds(frame.to - frame.from)}` : "This step");
  const height = pen.em * 1.3;
  pen.box(at.x, top, at.w, height, pen.faint);
  if (!frame) return;
  const total = frame.to - frame.from;
  let x = at.x, words = at.x;
  for (const [key, name, colour] of parts) {
    const wide = at.w * frame.parts[key] / total;
    if (wide > 0.3) pen.box(x, top, wide - 0.5, height, colour);
    x += wide;
    const label = `${name} ${Math.round(100 * frame.parts[key] / total)}%`;
    if (frame.parts[key] / total < 0.01 || words + pen.wide(label, 0.78) + pen.em > at.x + at.w) continue;
    pen.box(words, top + height + pen.em * 0.45, pen.em * 0.7, pen.em * 0.7, colour);
    pen.text(label, words + pen.em, top + height + pen.em * 1.08, { size: 0.78 });
    words += pen.wide(label, 0.78) + pen.em * 2.1;
  }
}

// drawRoofline draws where the step is under the roof of the accelerators, and where the last ones were.
function drawRoofline(pen, at, stage, i) {
  const frame = stage.frames[i];
  const top = heading(pen, at, frame ? `Roofline: ${rate(frame.rate)}` : "Roofline");
  const bottom = at.y + at.h - pen.em * 1.2, low = 0.5, high = 8192;
  const x = (v) => at.x + at.w * Math.log(Math.min(high, Math.max(low, v)) / low) / Math.log(high / low);
  pen.text("FLOP for a byte read →", at.x + at.w, at.y + at.h - 2, { align: "right", size: 0.72 });
  pen.path([[at.x, top], [at.x, bottom], [at.x + at.w, bottom]], pen.line);
  if (!frame || !frame.peak) return;
  const least = frame.bandwidth * low / 8, most = frame.peak * 6;
  const y = (v) => bottom - (bottom - top) * Math.log(Math.max(least, v) / least) / Math.log(most / least);
  const ridge = frame.peak / frame.bandwidth;
  pen.path([[x(low), y(frame.bandwidth * low)], [x(ridge), y(frame.peak)], [x(high), y(frame.peak)]], pen.ink, 2);
  pen.text(rate(frame.peak), at.x + at.w, y(frame.peak) - pen.em * 0.35, { align: "right", size: 0.72 });
  for (let k = Math.max(0, i - 24); k <= i; k++) {
    const f = stage.frames[k], now = k === i;
    const colour = f.running.some((r) => r.does === "prefill") ? "#d55e00" : "#0072b2";
    pen.dot(x(f.intensity), y(f.rate), now ? pen.em * 0.38 : pen.em * 0.2, colour, now ? 1 : 0.25);
  }
}

// rate writes a number of FLOP/s.
function rate(v) {
  for (const [unit, size] of [["P", 1e15], ["T", 1e12], ["G", 1e9]])
    if (v >= size) return `${(v / size).toPrecision(3)} ${unit}FLOP/s`;
  return `${v.toPrecision(3)} FLOP/s`;
}
