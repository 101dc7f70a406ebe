// The pictures of a server. Each is given a pen, its place on the canvas, and what it shows.
"use strict";

// drawServer draws what there is at a moment. view says what is pointed at: a region, a request.
function drawServer(canvas, frames, at, view) {
  const pen = new Pen(canvas), i = frames.index(at), frame = frames.list[i];
  const room = layout(pen.width, pen.height, pen.em);
  const draw = { queue: drawQueue, batch: drawBatch, memory: drawMemory, step: drawStep, roof: drawRoofline };
  for (const [region, place] of Object.entries(room)) {
    pen.note(place.x, place.y, place.w, place.h, { region });
    draw[region](pen, place, { frames, frame, i, at, view });
    if (view.region === region) pen.frame(place.x - 3, place.y - 3, place.w + 6, place.h + 6, pen.act, 2.5);
  }
  return pen.hits;
}

// layout divides a canvas: beside each other, or on a phone below each other. Where there is little room, the
// roof is left out, or memory too.
function layout(width, height, em) {
  const gap = em * 0.8, edge = 4;
  const w = width - 2 * edge, h = height - 2 * edge;
  const step = Math.min(4.3 * em, h * 0.3), top = h - step - gap, foot = { x: edge, y: edge + h - step, w, h: step };
  if (width < 34 * em) {
    const queue = 2.6 * em, bottom = h < 21 * em ? 0 : Math.min(9 * em, h * 0.28), roof = w * 0.42, below = edge + top - bottom;
    const both = {
      queue: { x: edge, y: edge, w, h: queue },
      batch: { x: edge, y: edge + queue + gap, w, h: top - queue - gap - (bottom && bottom + gap) },
      step: foot,
    };
    if (h < 14 * em) return { batch: { x: edge, y: edge, w, h: top }, step: foot };
    return !bottom ? both : { ...both, memory: { x: edge, y: below, w: w - roof - gap, h: bottom }, roof: { x: edge + w - roof, y: below, w: roof, h: bottom } };
  }
  const side = Math.max(12 * em, Math.min(17 * em, w * 0.29)), queue = 5.8 * em, small = top < 13 * em;
  const roof = small ? 0 : Math.min(11 * em, top * 0.46);
  const list = {
    queue: { x: edge, y: edge, w: queue, h: top },
    batch: { x: edge + queue + gap, y: edge, w: w - side - queue - 2 * gap, h: top },
    memory: { x: edge + w - side, y: edge, w: side, h: top - (roof && roof + gap) },
    step: foot,
  };
  return small ? list : { ...list, roof: { x: edge + w - side, y: edge + top - roof, w: side, h: roof } };
}

// heading writes the name of a picture, with more where there is room, and returns where it begins below.
function heading(pen, at, words, more = "") {
  pen.text(pen.wide(`${words}${more}`, 0.9) < at.w ? `${words}${more}` : words, at.x, at.y + pen.em * 0.85, { bold: true, colour: pen.ink, size: 0.82 });
  return at.y + pen.em * 1.35;
}

// faded returns how strongly a request is drawn: pale, where another one is followed.
const faded = (view, id) => view.request === undefined || view.request === id ? 1 : 0.18;

// drawQueue draws who waits: those that lost their place, then those that came, the first on top. The
// length of a bar is that of the prompt.
function drawQueue(pen, at, { frame, at: now, view }) {
  const waits = frame ? [...frame.running.filter((r) => r.does === "evicted"), ...frame.waiting.filter((w) => w.arrived <= now)] : [];
  const top = heading(pen, at, waits.length ? `Queue: ${waits.length}` : "Queue");
  const height = pen.em * 0.95, gap = 2, columns = Math.max(1, Math.floor(at.w / (5.5 * pen.em)));
  const wide = at.w / columns, lines = Math.max(1, Math.floor((at.y + at.h - top - (columns > 1 ? 0 : pen.em)) / (height + gap)));
  const longest = Math.max(1000, ...waits.map((w) => w.prompt));
  waits.slice(0, lines * columns).forEach((w, i) => {
    const x = at.x + (i % columns) * wide, y = top + Math.floor(i / columns) * (height + gap);
    const label = pen.wide("#0000", 0.72) + 4;
    pen.text("#" + w.id, x, y + height * 0.8, { size: 0.72 });
    pen.box(x + label, y + 1, Math.max(3, (wide - label - 6) * w.prompt / longest), height - 2, colourOf(w.id), (w.does ? 0.45 : 0.9) * faded(view, w.id));
    pen.note(x, y, wide, height, { region: "queue", request: w.id });
  });
  if (waits.length > lines * columns) pen.text(`and ${waits.length - lines * columns} more`, at.x + (columns > 1 ? at.w / 2 : 0), columns > 1 ? at.y + pen.em * 0.85 : at.y + at.h - 2, { size: 0.72 });
  if (!waits.length) pen.text("nobody waits", at.x, top + height * 0.8, { size: 0.75 });
}

// drawBatch draws a row for each request in the batch, over the last steps: prompt chunks are wide, a
// token of an answer is a tick, and what is held back is pale.
function drawBatch(pen, at, { frames, frame, i, at: now, view }) {
  const size = frame?.rows.size ?? 0;
  const top = heading(pen, at, frame ? `Batch: ${size} ${size === 1 ? "request" : "requests"}` : "Batch");
  const bottom = at.y + at.h - pen.em * 1.2, left = at.x + pen.wide("#0000", 0.72) + 6, width = at.x + at.w - left;
  const fit = Math.max(1, Math.floor((bottom - top) / (pen.em * 0.55)));
  let tallest = 7;
  for (let k = Math.max(0, i - 200); k <= i; k++) for (const row of frames.list[k].rows.values()) tallest = Math.max(tallest, row);
  const rows = Math.min(tallest + 1, fit), height = Math.min(pen.em * 3, (bottom - top) / rows);
  const from = windowStart(frames, i, now), x = (t) => left + width * (t - from) / (now - from || 1);
  for (let row = 0; row < rows; row++) pen.box(left, top + row * height + 1, width, height - 2, pen.faint);
  for (let k = i; k >= 0 && frames.list[k].to > from; k--) drawColumn(pen, frames.list[k], { x, left, top, rows, height, now, view });
  for (const [id, row] of frame?.rows ?? []) {
    if (row >= rows) continue;
    pen.note(at.x, top + row * height, left - at.x, height, { region: "batch", request: id });
    if (height > pen.em * 0.6) pen.text("#" + id, left - 5, top + row * height + height * 0.5 + pen.em * 0.25, { align: "right", size: Math.min(0.72, height / pen.em * 0.75) });
  }
  const hidden = [...frame?.rows.values() ?? []].filter((row) => row >= rows).length;
  pen.text(hidden ? `and ${hidden} more below` : frame ? `${number(frame.answered)} answered` : "", left, at.y + at.h - 2, { size: 0.72 });
  pen.text(`the last ${milliseconds(now - from)} →`, at.x + at.w, at.y + at.h - 2, { align: "right", size: 0.72 });
}

// windowStart returns from when on steps are shown: some forty of them.
function windowStart(frames, i, now) {
  if (i < 0) return now - 1;
  return Math.min(frames.list[Math.max(0, i - 40)].from, now - 1);
}

// drawColumn draws a step of all rows.
function drawColumn(pen, f, { x, left, top, rows, height, now, view }) {
  const from = Math.max(left, x(f.from)), to = x(Math.min(f.to, now));
  if (to <= left) return;
  pen.note(from, top, to - from, rows * height, { region: "batch", step: f });
  for (const r of f.running) {
    const row = f.rows.get(r.id);
    if (row === undefined || row >= rows) continue;
    const y = top + row * height + 1, tall = height - 2, ink = faded(view, r.id);
    pen.note(from, y, to - from, tall, { region: "batch", request: r.id, step: f });
    if (r.does === "prefill") pen.box(from, y, to - from - 0.5, tall, colourOf(r.id), ink);
    else if (r.does === "hold") pen.box(from, y, to - from, tall, colourOf(r.id), 0.18 * ink);
    else if (r.does === "decode") {
      pen.box(from, y, to - from, tall, colourOf(r.id), 0.28 * ink);
      if (f.to > now) continue;
      const tick = Math.max(1.5, Math.min(4, (to - from) * 0.25));
      for (let n = 0; n < Math.max(1, f.gained.get(r.id)); n++) pen.box(Math.max(left, to - tick * (1 + 1.6 * n)), y, tick, tall, colourOf(r.id), ink);
    }
  }
  if (view.step === f.step) pen.frame(from, top, Math.max(1, to - from), rows * height, pen.act, 2);
}

// drawMemory draws the KV memory as squares in the colours of the requests whose tokens they hold. Room that is
// reserved and empty is pale; what several requests share is striped; the square that is written has a frame.
function drawMemory(pen, at, { frame, view }) {
  const used = frame ? Math.round(100 * frame.used / Math.max(1, frame.capacity)) : 0;
  const top = heading(pen, at, `KV memory: ${used}% in use`);
  if (!frame) return;
  const { owned, free, count, size: tokens } = frame.squares, bottom = at.y + at.h - pen.em * 1.2;
  let size = Math.sqrt(at.w * (bottom - top) / count);
  while (Math.floor(at.w / size) * Math.floor((bottom - top) / size) < count && size > 2) size -= 0.25;
  const columns = Math.max(1, Math.floor(at.w / size)), side = Math.max(1, size - 1.5);
  const corner = (k) => [at.x + (k % columns) * size, top + Math.floor(k / columns) * size];
  for (const k of free) pen.box(...corner(k), side, side, pen.faint);
  for (const [id, list] of owned) {
    const r = frame.running.find((r) => r.id === id), ink = faded(view, id);
    let left = id === -1 ? Infinity : Math.max(0, (r?.stored ?? 0) - (r?.cached ?? 0));
    for (const k of list) {
      const [x, y] = corner(k), filled = Math.min(1, Math.max(0, left / tokens));
      if (id === -1) {
        pen.box(x, y, side, side, pen.soft);
        pen.box(x, y + side * 0.35, side, side * 0.3, pen.faint);
        continue;
      }
      pen.box(x, y, side, side, colourOf(id), 0.3 * ink);
      if (filled > 0) pen.box(x, y + side * (1 - filled), side, side * filled, colourOf(id), ink);
      const writes = left > 0 && left <= tokens && r?.does === "decode";
      if (writes && side > 5) pen.frame(x + 0.75, y + 0.75, side - 1.5, side - 1.5, pen.ink, 1.5);
      pen.note(x, y, size, size, { region: "memory", request: id });
      left -= tokens;
    }
  }
  const each = Math.round(tokens);
  pen.text(each <= 16 ? `a square is a block of ${each} tokens` : `a square is ${number(each)} tokens`, at.x, at.y + at.h - 2, { size: 0.72 });
}

// drawStep draws what the step is spent on. What is read from memory streams past.
function drawStep(pen, at, { frame, at: now }) {
  const top = heading(pen, at, frame ? `This step: ${milliseconds(frame.to - frame.from)}` : "This step");
  const height = pen.em * 1.5;
  pen.box(at.x, top, at.w, height, pen.faint);
  if (!frame) return;
  const total = frame.to - frame.from;
  let x = at.x, words = at.x;
  for (const [key, name] of parts) {
    const share = frame.parts[key] / total, wide = at.w * share;
    if (wide > 1) pen.textured(x, top, wide, height, key, now * 2);
    x += wide;
    const label = `${name} ${Math.round(100 * share)}%`;
    if (share < 0.01 || words + pen.wide(label, 0.78) + pen.em > at.x + at.w) continue;
    pen.textured(words, top + height + pen.em * 0.35, pen.em * 0.85, pen.em * 0.85, key);
    pen.text(label, words + pen.em * 1.15, top + height + pen.em * 1.1, { size: 0.78 });
    words += pen.wide(label, 0.78) + pen.em * 2.3;
  }
}

// drawRoofline draws where the step is under the roof of the accelerators, and where the last ones were.
function drawRoofline(pen, at, { frames, frame, i }) {
  const top = heading(pen, at, frame ? `Roofline: ${rate(frame.rate)}` : "Roofline", " of an accelerator");
  const bottom = at.y + at.h - pen.em * 1.2, low = 0.5, high = 8192;
  const x = (v) => at.x + at.w * Math.log(Math.min(high, Math.max(low, v)) / low) / Math.log(high / low);
  pen.text("FLOP for a byte moved →", at.x + at.w, at.y + at.h - 2, { align: "right", size: 0.72 });
  pen.path([[at.x, top], [at.x, bottom], [at.x + at.w, bottom]], pen.line);
  if (!frame || !frame.peak) return;
  const least = frame.bandwidth * low / 8, highest = frame.peak * 6;
  const y = (v) => bottom - (bottom - top) * Math.log(Math.max(least, v) / least) / Math.log(highest / least);
  const ridge = frame.peak / frame.bandwidth;
  pen.path([[x(low), y(frame.bandwidth * low)], [x(ridge), y(frame.peak)], [x(high), y(frame.peak)]], pen.ink, 2);
  pen.text(rate(frame.peak), at.x + at.w, y(frame.peak) - pen.em * 0.35, { align: "right", size: 0.72 });
  for (let k = Math.max(0, i - 24); k <= i; k++) {
    const f = frames.list[k], now = k === i;
    pen.mark(x(f.intensity), y(f.rate), pen.em * (now ? 0.38 : 0.2), f.running.some((r) => r.does === "prefill"), now ? 1 : 0.25);
  }
}

// rate writes a number of FLOP/s.
function rate(v) {
  for (const [unit, size] of [["P", 1e15], ["T", 1e12], ["G", 1e9]])
    if (v >= size) return `${(v / size).toPrecision(3)} ${unit}FLOP/s`;
  return `${v.toPrecision(3)} FLOP/s`;
}

// drawRun draws a whole run, with the moment that the stage shows: the batch upwards from the middle, the queue
// downwards, and when other requests began to come.
function drawRun(canvas, runs, at, past) {
  const pen = new Pen(canvas), ends = Math.max(1, ...runs.map((r) => r.ends)), x = (t) => pen.width * t / ends;
  const most = (key) => Math.max(1, ...runs.flatMap((r) => r.points.map((p) => p[key])));
  const middle = pen.height * 0.5, tall = middle - 2, batch = most("running"), queue = most("waiting");
  runs.forEach((run, k) => {
    if (!run.points.length) return;
    const up = run.points.map((p) => [x(p.at), middle - tall * p.running / batch]);
    const down = run.points.map((p) => [x(p.at), middle + tall * p.waiting / queue]);
    if (k === 0) { pen.area(up, middle, pen.soft, 0.45); pen.area(down, middle, pen.ink, 0.8); } else { pen.path(up, pen.ink, 1.2); pen.path(down, pen.ink, 1.2); }
  });
  pen.path([[0, middle], [pen.width, middle]], pen.line, 1);
  for (const p of past) pen.path([[x(p.until), 0], [x(p.until), pen.height]], pen.soft, 1.5);
  pen.path([[x(at), 0], [x(at), pen.height]], pen.act, 3);
  pen.text(`in the batch, ${number(batch)} at most`, 4, pen.em, { size: 0.78, colour: pen.ink, halo: true });
  pen.text(`in the queue, ${number(most("waiting") === 1 && !runs.some((r) => r.points.some((p) => p.waiting)) ? 0 : queue)} at most`, 4, pen.height - 5, { size: 0.78, colour: pen.ink, halo: true });
}
