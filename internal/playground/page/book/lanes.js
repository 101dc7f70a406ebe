// Lanes: requests over time, a lane each, as a running server treats them: waiting, its prompt, its answer, and what holds
// it up. Below them, if wanted, how full the memory is.
"use strict";
const lanes = (() => {
  const kinds = { wait: "waits", prefill: "its prompt", decode: "its answer", gap: "waits for a token", hold: "done, and kept", evicted: "lost its place" };
  const written = 8; // milliseconds before a step's end in which a token is shown as being written
  const known = new WeakMap();

  // lanesOf cuts frames into lanes [{id, arrived, parts: [{kind, from, to}, …]}, …] in the order of arrival. A request that
  // lost its place waits again: its part is evicted until it has a place. Of a long step, an answer has a gap, and its token.
  function lanesOf(frames) {
    if (known.has(frames)) return known.get(frames);
    const add = (l, kind, from, to) => { if (l.parts.at(-1)?.kind === kind) l.parts.at(-1).to = to; else l.parts.push({ kind, from, to }); };
    const by = new Map(), lane = (r) => by.get(r.id) ?? by.set(r.id, { id: r.id, arrived: r.arrived, parts: [] }).get(r.id);
    for (const f of frames) {
      for (const w of f.waiting) lane(w);
      for (const r of f.running) {
        const l = lane(r), kind = r.does in kinds ? r.does : "wait", gap = kind === "decode" && f.to - f.from > 1.5 * written;
        if (l.parts.at(-1)?.kind === "evicted" && kind !== "evicted") l.parts.at(-1).to = f.from;
        if (gap) add(l, "gap", f.from, f.to - written);
        add(l, kind, gap ? f.to - written : f.from, f.to);
      }
    }
    const list = [...by.values()].sort((a, b) => a.arrived - b.arrived), ends = frames.at(-1)?.to ?? 0;
    for (const l of list) {
      const first = l.parts[0]?.from ?? ends;
      if (first > l.arrived && first > frames[0].from) l.parts.unshift({ kind: "wait", from: l.arrived, to: first });
      if (l.parts.at(-1)?.kind === "evicted") l.parts.at(-1).to = ends;
    }
    known.set(frames, list);
    return list;
  }

  // draw draws the lanes of a run from some milliseconds to others, with a title. look.at is where the hand of the clock is.
  function draw(canvas, look, title, run, [since, until], memory) {
    const pen = machine.pad(canvas), { of, em } = pen, frames = look.get(run)?.list;
    if (!frames) return undefined;
    const all = lanesOf(frames), size = pen.width < 27 * em ? 0.85 : 1, rows = size < 1 ? 2 : 1, foot = (2.4 + 1.2 * rows) * em + (memory ? 5.2 * em : 0);
    const box = { x: 0.2 * em, y: 1.8 * em, w: pen.width - 0.6 * em, h: pen.height - 1.8 * em - foot };
    const shown = all.filter((l) => l.arrived < until && l.parts.at(-1)?.to > since), each = Math.max(5, Math.min(1.6 * em, box.h / Math.max(1, shown.length))), list = shown.slice(0, Math.floor(box.h / each));
    const x = (t) => box.x + Math.max(0, Math.min(1, (t - since) / (until - since))) * box.w, hand = look.still ? until : since + (look.at ?? 1) * (until - since);
    pen.text(title, 0, em, { colour: of.ink, bold: true, size });
    const part = (kind, a, b, y, h) => {
      const w = Math.max(1, b - a);
      if (kind === "wait") pen.box(a, y + h / 2 - 1, w, 2, of.soft, 0.7);
      if (kind === "prefill") pen.box(a, y, Math.max(2, w), h, of.prompt);
      if (kind === "decode") pen.box(a, y + h * 0.15, w, h * 0.7, of.weights);
      if (kind === "gap") pen.box(a, y + h * 0.5 - 1, w, 2, of.weights);
      if (kind === "hold") { pen.box(a, y + h * 0.15, w, h * 0.7, of.unlit); pen.frame(a + 0.5, y + h * 0.15 + 0.5, Math.max(0, w - 1), Math.max(0, h * 0.7 - 1), of.soft, 1); }
      if (kind === "evicted") for (let k = a; k < a + w; k += 7) pen.box(k, y + h * 0.3, Math.min(4, a + w - k), h * 0.4, of.alarm);
    };
    list.forEach((l, i) => {
      const y = box.y + i * each, h = each - (each > 8 ? 2 : 1);
      for (const p of l.parts) if (p.from < until && p.to > since) part(p.kind, x(p.from), x(p.to), y, h);
    });
    const bottom = box.y + box.h;
    if (memory) {
      const top = bottom + 1.9 * em, high = 3 * em;
      pen.text("Memory for keys and values", 0, top - 0.5 * em, { colour: of.kv, bold: true, size });
      pen.box(box.x, top, box.w, high, of.unlit);
      for (const f of frames) if (f.from < until && f.to > since) pen.box(x(f.from), top + high * (1 - f.used / f.capacity), Math.max(1, x(f.to) - x(f.from) + 0.5), high * f.used / f.capacity, of.kvfill);
      pen.path([[box.x, top], [box.x + box.w, top]], of.alarm, 2);
    }
    const floor = pen.height - (1.5 + 1.2 * rows) * em;
    pen.box(x(hand), box.y, box.x + box.w - x(hand), floor - box.y, of.paper, 0.72); // what is still to come is pale
    pen.path([[x(hand), box.y], [x(hand), floor]], of.ink, 1.5);
    const last = frames.findLast((f) => f.to <= hand) ?? frames[0];
    if (memory) pen.text(`${sentences.write(last.used / last.capacity, "%")} in use`, box.x + box.w, bottom + 1.4 * em, { colour: of.kv, bold: true, size, align: "right" });
    for (let s = since / 1000; s <= until / 1000; s++) {
      pen.path([[x(1000 * s), floor], [x(1000 * s), floor + 4]], of.soft, 1);
      pen.text(`${s} s`, Math.min(x(1000 * s), box.x + box.w - 0.8 * em), floor + 1.1 * em, { size, align: 1000 * s === since ? "left" : "center" });
    }
    const found = Object.keys(kinds).filter((k) => list.some((l) => l.parts.some((p) => p.kind === k && p.from < until && p.to > since)));
    let at = 0, y = pen.height - (1.2 * rows - 0.15) * em;
    for (const kind of found) { // the key
      if (at + pen.wide(kinds[kind], size) + 1.4 * em > pen.width) { at = 0; y += 1.2 * em; }
      part(kind, at, at + 1.1 * em, y, 0.9 * em);
      pen.text(kinds[kind], at + 1.4 * em, y + 0.8 * em, { size });
      at += pen.wide(kinds[kind], size) + 2.2 * em;
    }
    return { lanes: list.length, kinds: found, hand };
  }

  return draw;
})();
