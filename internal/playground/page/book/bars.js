// Bars of a step's time by part, one bar for each stop of a handle: what shrinks with it, and what does not.
"use strict";
function stepBars(handle, parts) {
  // parts is [[name, "formula", tone], …]: formulas of times in ms that sum to the step.
  return (canvas, look) => {
    const pen = machine.pad(canvas), { of, em } = pen, { stops, show } = look.of.handles[handle];
    const bars = stops.map((stop) => ({ stop, at: look.with(handle, stop) }))
      .map(({ stop, at }) => ({ stop, parts: parts.map(([, formula]) => at.value(formula)) }));
    const sums = bars.map((b) => b.parts.reduce((a, x) => a + x, 0)), most = Math.max(...sums.filter(Number.isFinite));
    if (!Number.isFinite(most)) return undefined;
    const left = Math.max(...stops.map((s) => pen.wide(show(s), 1))) + em, right = pen.wide("888.8 ms", 1.1) + em;
    const high = (pen.height - 2.6 * em) / bars.length, scale = (pen.width - left - right) / most;
    let x = left;
    for (const [name, , tone] of parts) { // a key above the bars
      pen.box(x, 0.4 * em, 0.8 * em, 0.8 * em, of[tone]);
      pen.text(name, x + 1.1 * em, 1.15 * em, { size: 1, colour: of.ink });
      x += pen.wide(name, 1) + 2.6 * em;
    }
    bars.forEach((b, i) => {
      const y = 2.2 * em + i * high, mine = b.stop === look.h[handle];
      pen.text(show(b.stop), left - 0.5 * em, y + high / 2, { size: 1, align: "right", bold: mine, colour: mine ? of.ink : of.soft });
      if (!Number.isFinite(sums[i])) return void pen.text("–", left, y + high / 2, { size: 1, colour: of.soft });
      let at = left;
      b.parts.forEach((ms, k) => { pen.box(at, y, ms * scale, high * 0.72, of[parts[k][2]]); at += ms * scale; });
      pen.text(sentences.write(sums[i], "ms"), at + 0.5 * em, y + high / 2, { size: 1.1, bold: mine, colour: of.ink });
    });
    return { sums };
  };
}
