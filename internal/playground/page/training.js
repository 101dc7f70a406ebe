// The picture of training runs: bars of the memory of an accelerator, or of the time of a step, by part.
"use strict";

// partsOf returns the parts of a bar: uses of memory in bytes, or what a step does in seconds.
function partsOf(figures, kind) {
  if (kind === "memory") return figures.memory.lines.map((l) => [l.name, l.bytes]);
  return Object.entries(figures.step).filter(([, seconds]) => seconds > 0.002 * figures.step_s).map(([name, seconds]) => [name.replaceAll("_", " "), seconds]);
}

// Bars shows the training runs of a stop. Until an answer is chosen, only the first part of each has a name.
function Bars({ stop }) {
  const runs = Object.keys(stop.train).map((name) => app.runs[name]?.figures).filter(Boolean);
  const shown = runs.map((r) => {
    const parts = partsOf(r, stop.bars), [first, ...rest] = parts;
    return { gpus: r.gpus, parts: app.answered === undefined ? [first, ["?", rest.reduce((sum, [, x]) => sum + x, 0)]] : parts };
  });
  const form = stop.bars === "memory" ? gib : seconds;
  const title = stop.bars === "memory" ? "Memory of an accelerator" : "Time of a step, each bar as a whole";
  return html`<figure id="bars"><div dangerouslySetInnerHTML=${{ __html: drawBars(shown, form, title) }}></div><figcaption>${title}: ${shown.map((b) =>
    `${number(b.gpus)} accelerators: ${b.parts.map(([name, x]) => name === "?" ? "the rest, which has no name yet" : `${name} ${form(x)}`).join(", ")}`).join("; ")}.</figcaption></figure>`;
}

// drawBars draws a column for each run, with its parts from below.
function drawBars(bars, form, title) {
  const size = { width: 540, height: 330, bottom: 30, top: 8 }, column = size.width / Math.max(1, bars.length), drawn = [];
  bars.forEach(({ gpus, parts }, i) => {
    const sum = parts.reduce((s, [, x]) => s + x, 0), x = i * column + 8;
    let y = size.height - size.bottom, named = y + 14;
    parts.forEach(([name, value], k) => {
      const high = value / sum * (size.height - size.bottom - size.top);
      y -= high;
      named = Math.min(named - 14, y + high / 2 + 4);
      drawn.push(`<rect class="part part-${name === "?" ? "unknown" : k % 6}" x="${x}" y="${y}" width="70" height="${Math.max(0, high)}"/>`,
        `<text x="${x + 78}" y="${named}">${name === "?" ? "?" : `${name} ${form(value)}`}</text>`);
    });
    drawn.push(`<text x="${x}" y="${size.height - 10}">${number(gpus)} accelerators</text>`);
  });
  return `<svg viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${title}">${drawn.join("")}</svg>`;
}

const gib = (bytes) => `${Number((bytes / 2 ** 30).toPrecision(3))} GiB`;
const millions = (x) => `$${Number((x / 1e6).toPrecision(3))} M`;
