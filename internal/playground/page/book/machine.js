// The machine: memory as a column, a pipe as wide as the bandwidth, arithmetic as a field, and readers. It draws a scene,
// which is a plain value, and knows nothing of chapters:
//   memory {capacity, weights, kv, reserved}, read {weights, kv, other} of a step: bytes; layers; fits
//   bandwidth in B/s, peak in FLOP/s, ms of the step, use: the share of peak that it reaches, flows: the share of its
//   time that bytes flow at this bandwidth, and of the pipe that is full, as each layer waits for more than its bytes; at: the share of the step that is over, number: which step it is
//   readers: how many, given: the tokens that each gets of a step, 1 unless told; prompt: whether the step reads a prompt; blur: steps are too fast to be seen one by one
//   gpus: how many share the model; with two drawn, link: the milliseconds of a step in which they exchange results
//   grips {weights, kv, pipe, readers}: handles that can be dragged there, hot: the one under the hand
// All places come from bytes, seconds and shares. It returns what it drew, and where: the regions by name.
"use strict";
const machine = (() => {
  const slower = 60; // the one slow-motion constant: a second of the machine's is a minute of ours
  const across = 25, cells = 500; // of the field: each is 0.2 % of the peak
  const widest = 8e12; // B/s: a pipe of that bandwidth is as high as the picture allows
  const inPipe = 7; // layers that are in the pipe at once
  const names = ["ink", "soft", "line", "paper", "card", "unlit", "weights", "kv", "kvfill", "arithmetic", "lit", "prompt", "alarm"];
  const order = Array.from({ length: cells }, (_, i) => i).sort((a, b) => mixed(a) - mixed(b)); // which cell lights up next

  function mixed(i) {
    let h = Math.imul(i + 1, 2654435761);
    h = Math.imul(h ^ (h >>> 15), 2246822519);
    return (h ^ (h >>> 13)) >>> 0;
  }

  // pad readies a canvas: a Pen with the book's colours.
  function pad(canvas) {
    const pen = new Pen(canvas), style = getComputedStyle(canvas);
    pen.of = Object.fromEntries(names.map((n) => [n, style.getPropertyValue(`--${n}`).trim()]));
    return pen;
  }

  // hatched fills a box with slanted lines on a faint ground, the second cue of keys and values.
  function hatched(pen, x, y, w, h, colour, gap = 6) {
    if (w <= 0 || h <= 0) return;
    pen.box(x, y, w, h, colour, 0.3);
    const { c } = pen;
    c.save();
    c.beginPath();
    c.rect(x, y, w, h);
    c.clip();
    c.strokeStyle = colour;
    c.lineWidth = 1.7;
    c.beginPath();
    for (let k = -Math.ceil(h / gap) * gap; k < w; k += gap) { c.moveTo(x + k, y + h); c.lineTo(x + k + h, y); }
    c.stroke();
    c.restore();
  }

  // funnel is the way from the column to the pipe: from an edge between two heights to the mouth of the pipe.
  function funnel(c, x, top, bottom, to, mouthTop, mouthBottom) {
    const mid = (x + to) / 2;
    c.beginPath();
    c.moveTo(x, top);
    c.bezierCurveTo(mid, top, mid, mouthTop, to, mouthTop);
    c.lineTo(to, mouthBottom);
    c.bezierCurveTo(mid, mouthBottom, mid, bottom, x, bottom);
    c.closePath();
  }

  const within = (x, low, high) => Math.max(low, Math.min(high, x));

  // draw draws a scene into a box of a canvas, the whole of it unless told, and returns what it drew. Of machines one
  // above the other, the first has the names (heads), and the last the figures.
  function draw(pen, scene, box = { x: 0, y: 0, w: pen.width, h: pen.height }, { heads = true, figures = true } = {}) {
    const { of, em, c } = pen, { memory: m, read } = scene;
    const narrow = box.w < 27 * em, top = heads ? 2.7 * em : 0.2 * em, foot = figures ? 3.8 * em : 0.2 * em;
    const h = box.h - top - foot, y = box.y + top, bottom = y + h;
    const people = scene.readers === undefined ? 0 : narrow ? 0 : Math.max(6.6 * em, box.w * 0.13);
    const w = box.w - people - (people ? 1.2 * em : 0);
    const column = { x: box.x, w: w * 0.19 }, perByte = h / m.capacity;
    const cell = Math.max(1, Math.min(w * 0.4 / across, h / (cells / across)));
    const field = { w: cell * across, h: cell * cells / across };
    field.x = box.x + w - field.w;
    field.y = y + (h - field.h) / 2;
    const height = within(h * 0.42 * scene.bandwidth / widest, 3, h * 0.5), gap = field.x - column.x - column.w;
    const pipe = { x: column.x + column.w + gap * 0.3, y: y + (h - height) / 2, h: height };
    pipe.w = field.x - pipe.x - 8;
    const places = { column, pipe, field };

    // The column, from below: weights, of which the part that a step reads is in layers; keys and values; free; reserved.
    const weightsTop = bottom - m.weights * perByte, room = m.capacity - m.reserved - m.weights;
    const kv = Math.min(m.kv, room) * perByte, kvHeight = m.kv > 0 ? Math.max(kv, 2) : 0, kvTop = weightsTop - kvHeight;
    const readTop = bottom - Math.min(read.weights, m.weights) * perByte, layer = (bottom - readTop) / scene.layers;
    const moves = !scene.blur && scene.fits && scene.ms > 0;
    const front = moves ? within(scene.at, 0, 1) * (scene.layers + inPipe) : -1;
    pen.box(column.x, y, column.w, h, of.unlit);
    pen.box(column.x, weightsTop, column.w, bottom - weightsTop, of.weights, 0.45);
    for (let k = 0; k < scene.layers; k++) {
      const active = front > k && front < k + 1.6;
      pen.box(column.x, readTop + k * layer, column.w, Math.max(0.7, layer - (layer > 3 ? 1 : 0.4)), active ? of.ink : of.weights, front >= k + 1.6 ? 0.6 : 1);
    }
    if (scene.fits) hatched(pen, column.x, kvTop, column.w, kvHeight, of.kvfill);
    else {
      hatched(pen, column.x, y, column.w, weightsTop - y, of.alarm, 9);
      pen.box(column.x - 5, y - 2, column.w + 10, 4, of.alarm);
    }
    const reservedBelow = y + m.reserved * perByte;
    c.setLineDash([3, 3]);
    if (m.reserved * perByte > 2) pen.path([[column.x, reservedBelow], [column.x + column.w, reservedBelow]], of.soft, 1);
    c.setLineDash([]);
    const tag = (words, a, b, colour, bold) => {
      if (b - a < 1.15 * em) return;
      if (bold) pen.box(column.x + column.w / 2 - pen.wide(words, 1) / 2 - 7, (a + b) / 2 - 0.75 * em, pen.wide(words, 1) + 14, 1.5 * em, of.paper, 0.92);
      pen.text(words, column.x + column.w / 2, (a + b) / 2 + 0.35 * em, { colour, align: "center", size: 1, bold });
    };
    if (scene.fits) {
      tag(narrow ? "" : "reserved", y, reservedBelow, of.soft);
      tag("free", reservedBelow, kvTop, of.soft);
      if (kvHeight > 1.6 * em) tag("KV", kvTop, weightsTop, of.kv, true);
    } else tag(narrow ? "full" : "does not fit", y, weightsTop, of.alarm, true);

    // The way to the pipe, and in it the layers that the step has read, each with its keys and values behind it.
    funnel(c, column.x + column.w, Math.max(y, kvTop), bottom, pipe.x, pipe.y, pipe.y + pipe.h);
    c.fillStyle = of.unlit;
    c.fill();
    pen.box(pipe.x, pipe.y, pipe.w, pipe.h, of.unlit);
    const all = read.weights + read.kv, share = all ? read.weights / all : 1;
    if (scene.blur || front >= 0 && front < scene.layers) {
      const shade = c.createLinearGradient(column.x + column.w, 0, pipe.x, 0);
      shade.addColorStop(0, of.weights + "1c");
      shade.addColorStop(1, of.weights + "d8");
      c.fillStyle = shade;
      c.fill();
      if (!scene.blur) {
        const mouth = readTop + front * layer;
        funnel(c, column.x + column.w, mouth - 2, mouth + layer + 2, pipe.x, pipe.y + 1, pipe.y + pipe.h - 1);
        c.globalAlpha = 0.75;
        c.fillStyle = of.weights;
        c.fill();
        c.globalAlpha = 1;
      }
    }
    if (scene.blur) {
      pen.box(pipe.x, pipe.y + 1, pipe.w * share, pipe.h - 2, of.weights, 0.85);
      hatched(pen, pipe.x + pipe.w * share, pipe.y + 1, pipe.w * (1 - share), pipe.h - 2, of.kvfill);
    } else for (let k = Math.max(0, Math.floor(front) - inPipe - 1); k < scene.layers && k < front; k++) {
      const b = within((front - k) / inPipe, 0, 1), a = Math.min(b, within((front - k - scene.flows) / inPipe, 0, 1)), middle = a + (b - a) * (1 - share);
      if (a >= 1) continue;
      pen.box(pipe.x + middle * pipe.w, pipe.y + 2, Math.max(0.5, (b - middle) * pipe.w - 1.5), pipe.h - 4, of.weights);
      if (share < 0.995) hatched(pen, pipe.x + a * pipe.w, pipe.y + 2, (middle - a) * pipe.w, pipe.h - 4, of.kvfill, 5);
    }
    for (const edge of [pipe.y, pipe.y + pipe.h]) pen.path([[pipe.x, edge], [pipe.x + pipe.w, edge]], of.soft, 1.5);

    // The field: as many cells are lit as the step uses of the peak.
    const lit = scene.fits ? within(scene.use, 0, 1) * cells : 0, works = scene.blur || front > inPipe * 0.6 || scene.still;
    const bright = new Map();
    for (let i = 0; works && i < lit; i++) bright.set(order[(i + scene.number * 97) % cells], Math.min(1, Math.max(0.4, lit - i)));
    const inset = Math.max(0.6, cell * 0.1);
    for (let i = 0; i < cells; i++) {
      const cx = field.x + (i % across) * cell, cy = field.y + Math.floor(i / across) * cell;
      pen.box(cx + inset, cy + inset, cell - 2 * inset, cell - 2 * inset, of.unlit);
      if (!bright.has(i)) continue;
      if (lit < 60) { c.shadowColor = of.lit; c.shadowBlur = 1.4 * cell; }
      pen.box(cx + inset / 2, cy + inset / 2, cell - inset, cell - inset, scene.prompt ? of.prompt : of.lit, bright.get(i));
      c.shadowBlur = 0;
    }

    // Names and capacities above, figures below.
    const head = (words, under, x, align) => {
      if (!heads) return;
      pen.text(words, x, box.y + 0.95 * em, { colour: of.ink, bold: true, size: 1, align });
      pen.text(under, x, box.y + 2.15 * em, { colour: of.soft, size: 1, align });
    };
    const figure = (words, under, x, align, colour) => {
      if (!figures) return;
      pen.text(words, x, bottom + 2.05 * em, { colour, bold: true, size: narrow ? 1.35 : 1.9, align });
      pen.text(under, x, bottom + 3.3 * em, { colour: of.soft, size: 1, align });
    };
    const middle = pipe.x + pipe.w / 2, fieldMiddle = field.x + field.w / 2;
    const among = heads && figures && scene.gpus > 1 ? `one of ${scene.gpus} GPUs` : "";
    head(narrow && among ? among : "Memory", sentences.write(m.capacity, "B") + (narrow || !among ? "" : `, ${among}`), column.x);
    head("Pipe", sentences.write(scene.bandwidth, "B/s"), middle, "center");
    head("Arithmetic", sentences.write(scene.peak, "FLOP/s"), fieldMiddle, "center");
    figure(sentences.write(m.weights, "B"), narrow ? "weights" : `weights, ${sentences.write(read.weights, "B")} read`, column.x, "left", of.weights);
    figure(scene.fits ? sentences.write(scene.ms, "ms") : "–", scene.name ?? (scene.readers > 1 ? `a step, ${sentences.write(scene.readers * (scene.given ?? 1), "n")} tokens` : "a token"), middle, "center", of.ink);
    figure(scene.fits ? sentences.write(scene.use, "%") : "–", narrow || field.w < 10 * em ? "in use" : "of the arithmetic in use", fieldMiddle, "center", of.arithmetic);
    if (!scene.blur && pipe.w > 9 * em && heads) pen.text(scene.pace ?? `${slower} × slower than life`, pipe.x + pipe.w, pipe.y + pipe.h + 1.6 * em, { colour: of.soft, align: "right", size: 1 });
    if (people) places.readers = readers(pen, scene, { x: box.x + box.w - people, y, w: people, h, people: heads }, head, figure);
    grips(pen, scene, places, { readTop, bottom, kvTop, y });
    places.hot = [["weights", column.x, weightsTop, column.w + 14, bottom - weightsTop], ["kv", column.x, y, column.w + 14, weightsTop - y],
      ["pipe", pipe.x, pipe.y - 18, pipe.w, pipe.h + 36], ...places.readers ? [["readers", places.readers.x, y, places.readers.w, h]] : []];
    return { scene, lit, places, shares: { kv: kv / h, weights: (bottom - weightsTop) / h, reserved: m.reserved / m.capacity, pipe: pipe.h / h, read: share } };
  }

  // readers draws those who read: one figure each, 256 at most, to whom a token flies as the step ends.
  function readers(pen, scene, box, head, figure) {
    const { of, em, c } = pen, n = Math.min(256, scene.readers), columns = n > 64 ? 8 : n > 16 ? 4 : n > 4 ? 2 : 1;
    const rows = Math.ceil(n / columns), size = Math.min(box.h / rows, box.w / columns, 1.7 * em);
    const top = box.y + box.h / 2 - rows * size / 2, fresh = scene.fits && scene.at < 0.14 && scene.number > 0 ? 1 - scene.at / 0.14 : 0;
    for (let i = 0; i < n && box.people; i++) {
      const x = box.x + (i % columns + 0.5) * size, y = top + (Math.floor(i / columns) + 0.5) * size, r = size * 0.3;
      c.fillStyle = of.ink;
      c.beginPath();
      c.arc(x, y - r * 0.5, r * 0.55, 0, 7);
      c.roundRect(x - r, y + r * 0.15, 2 * r, r * 0.9, r * 0.45);
      c.fill();
      if (fresh && size > 8) pen.box(x + r * 0.8, y - r * 1.1, r, r, of.weights, fresh);
    }
    head(scene.readers === 1 ? "Reader" : "Readers", "", box.x);
    const speed = scene.readers * (scene.given ?? 1) / scene.ms * 1000;
    figure(sentences.write(scene.readers, "n"), scene.fits ? `${sentences.write(speed, speed < 10 ? "x" : "n")}/s` : "no room", box.x, "left", scene.fits ? of.ink : of.alarm);
    return box;
  }

  // grips draws where the machine itself can be dragged: at edges, where no word stands.
  function grips(pen, scene, { column, pipe }, { readTop, bottom, kvTop, y }) {
    const { of, c } = pen;
    const grip = (name, x, at) => {
      if (!scene.grips?.[name]) return;
      const on = scene.hot === scene.grips[name];
      c.fillStyle = on ? of.ink : of.paper;
      c.strokeStyle = of.ink;
      c.lineWidth = 1.5;
      c.beginPath();
      c.roundRect(x - 14, at - 8, 28, 16, 8);
      c.fill();
      c.stroke();
      for (const s of [-1, 1]) pen.path([[x - 4, at + 2 * s], [x, at + 5 * s], [x + 4, at + 2 * s]], on ? of.paper : of.ink, 1.6);
      pen.note(x - 14, at - 8, 28, 16, { grip: name });
    };
    const weights = Math.min((readTop + bottom) / 2, bottom - 9);
    grip("weights", column.x + column.w, weights);
    grip("kv", column.x + column.w, Math.max(y + 9, Math.min(kvTop - 2, weights - 17)));
    grip("pipe", pipe.x + pipe.w / 2, pipe.y);
  }

  // shared draws two of the machines that share a model, one above the other, and what they say to each other.
  function shared(pen, scene) {
    const { of, em } = pen, gap = 2.6 * em, each = (pen.height - 6.9 * em - gap) / 2, box = { x: 0, y: 0, w: pen.width, h: each + 2.9 * em };
    const seen = draw(pen, scene, box, { figures: false }), { field } = seen.places, low = box.h + gap;
    draw(pen, { ...scene, grips: {} }, { ...box, y: low, h: each + 4 * em }, { heads: false });
    const x = field.x + field.w / 2, second = low + field.y - 2.5 * em, share = Math.max(0.05, scene.link / scene.ms);
    for (const [from, to] of [[field.y + field.h, box.h + 0.3 * em], [low - 0.7 * em, second]]) pen.box(x - share * field.w / 2, from, share * field.w, to - from, of.prompt, 0.8);
    pen.text(`link, ${sentences.write(scene.link, "ms")} of the step`, Math.min(x, pen.width - 8 * em), box.h + 1.35 * em, { colour: of.prompt, bold: true, size: 1, align: "center" });
    pen.text(scene.gpus > 2 ? `two of ${scene.gpus} GPUs, figures of one` : "both GPUs, figures of one", 0, box.h + 1.35 * em, { colour: of.soft, size: 1 });
    return seen;
  }

  const at = (canvas, scene) => {
    const pen = pad(canvas);
    return scene.link !== undefined && scene.gpus > 1 && pen.height > 24 * pen.em && pen.width > 30 * pen.em ? shared(pen, scene) : draw(pen, scene);
  };
  return Object.assign(at, { draw, pad, hatched, slower, cells });
})();
