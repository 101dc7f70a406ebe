// Bars to one scale, each cut into its parts: what a step moves or waits for, beside other steps.
"use strict";

// bars draws rows {name, on, parts: [[name, value, tone], …]} under a title, and returns what it drew. On is the row
// of the state at hand. The parts of all rows have the same names.
function bars(canvas, title, rows, unit) {
  const pen = machine.pad(canvas), { of, em } = pen, narrow = pen.width < 30 * em, sums = rows.map((r) => r.parts.reduce((a, [, v]) => a + v, 0));
  const most = Math.max(...sums), each = (pen.height - 3.8 * em) / rows.length, below = pen.height - 1.1 * em;
  const room = pen.width - Math.max(...sums.map((s) => pen.wide(sentences.write(s, unit), 1.2))) - 0.6 * em, high = Math.max(4, Math.min(8 * em, each - 2.2 * em)), size = narrow ? 0.8 : 1;
  const piece = (tone, x, y, w, h, share) => {
    if (tone === "kv") machine.hatched(pen, x, y, w, h, of.kvfill); else if (w > 0) pen.box(x, y, w, h, of[tone], share);
  };
  pen.text(title, 0, em, { colour: of.ink, bold: true, size: 1 });
  const names = rows[0].parts.map(([name]) => narrow ? { "keys and values": "KV", activations: "act." }[name] ?? name : name);
  const fit = size * Math.min(1, (pen.width - 1.6 * em * names.length) / names.reduce((sum, name) => sum + pen.wide(name, size), 0));
  let key = 0;
  names.forEach((name, i) => { // the key, below the bars
    piece(rows[0].parts[i][2], key, below, 0.8 * em, 0.8 * em);
    pen.text(name, key + em, below + 0.75 * em, { size: fit });
    key += pen.wide(name, fit) + 1.6 * em;
  });
  return rows.map((r, i) => {
    const y = 1.8 * em + i * each, top = y + 1.25 * em;
    pen.text(r.name, 0, y + 0.95 * em, { colour: r.on ? of.ink : of.soft, bold: r.on, size: 1 });
    let x = 0;
    const parts = r.parts.map(([name, value, tone]) => {
      const w = value / most * room, wide = pen.wide(name, 1);
      piece(tone, x, top, w, high, r.on ? 1 : 0.6);
      if (w > wide + em && high > 1.5 * em) {
        pen.box(x + 0.3 * em, top + high / 2 - 0.7 * em, wide + 0.4 * em, 1.4 * em, of.paper, 0.9);
        pen.text(name, x + 0.5 * em, top + high / 2 + 0.35 * em, { colour: of.ink, size: 1 });
      }
      x += w;
      return { name, value, w };
    });
    pen.text(sentences.write(sums[i], unit), x + 0.5 * em, top + high / 2 + 0.4 * em, { colour: of.ink, bold: true, size: 1.1 });
    return { name: r.name, sum: sums[i], parts };
  });
}

// stepBars returns the figure of a step that draws a step's time at each stop of a handle. parts is
// [[name, "formula", tone], …]: formulas of times in ms that sum to the step. It draws nothing while a time is not known.
const stepBars = (handle, title, parts) => {
  const rowsOf = (look) => look.of.handles[handle].stops.map((stop) => {
    const at = look.with(handle, stop);
    return { name: at.show(handle), on: stop === look.h[handle], parts: parts.map(([name, formula, tone]) => [name, at.value(formula), tone]) };
  });
  const draw = (canvas, look) => {
    const rows = rowsOf(look);
    if (rows.some((r) => r.parts.some(([, v]) => !Number.isFinite(v)))) return undefined;
    return { times: bars(canvas, title, rows, "ms") };
  };
  return Object.assign(draw, { asks: rowsOf });
};
