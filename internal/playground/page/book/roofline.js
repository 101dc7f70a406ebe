// The roofline of a chapter's state: what a step reaches, by how often it uses a byte, under what the machine allows.
"use strict";
function roofline(canvas, look) {
  const pen = machine.pad(canvas), { of, em } = pen, s = look.get("here"), p = look.get("prompt");
  if (!s || s.error || !p) return undefined;
  const flopOf = (r) => r.flop.matmul + r.flop.attention + r.flop.other;
  const mark = (r) => ({ x: flopOf(r) / (r.bytes.weights + r.bytes.kv_read), y: flopOf(r) / r.ms * 1000 });
  const low = { x: 0.5, y: 5e11 }, high = { x: 3000, y: 2.5e15 };
  const box = { x: 4.6 * em, y: 1.7 * em, w: pen.width - 5.2 * em, h: pen.height - 4.3 * em };
  const x = (v) => box.x + Math.log(v / low.x) / Math.log(high.x / low.x) * box.w;
  const y = (v) => box.y + box.h - Math.log(v / low.y) / Math.log(high.y / low.y) * box.h;
  for (const v of [1, 10, 100, 1000]) {
    pen.path([[x(v), box.y], [x(v), box.y + box.h]], pen.line, 1);
    pen.text(v.toLocaleString("en"), x(v), box.y + box.h + 1.2 * em, { size: 1, align: "center" });
    pen.path([[box.x, y(v * 1e12)], [box.x + box.w, y(v * 1e12)]], pen.line, 1);
    pen.text(v.toLocaleString("en"), box.x - 7, y(v * 1e12) + 0.35 * em, { size: 1, align: "right" });
  }
  pen.text(box.w > 20 * em ? "TFLOP/s reached: each line is ten times the one before" : "TFLOP/s (logarithmic)", 4, em, { colour: of.ink, bold: true, size: 1 });
  pen.text("FLOP for each byte read →", box.x + box.w, box.y + box.h + 2.4 * em, { colour: of.ink, bold: true, size: 1, align: "right" });
  const knee = s.peak / s.bandwidth, from = Math.max(low.x, low.y / s.bandwidth);
  pen.path([[x(from), y(from * s.bandwidth)], [x(knee), y(s.peak)], [box.x + box.w, y(s.peak)]], of.ink, 3.5);
  pen.text(sentences.write(s.peak, "FLOP/s"), box.x + box.w, y(s.peak) - 0.5 * em, { colour: of.ink, bold: true, size: 1, align: "right" });
  pen.c.setLineDash([4, 4]);
  pen.path([[x(knee), y(s.peak)], [x(knee), box.y + box.h]], of.soft, 1.5);
  pen.c.setLineDash([]);
  pen.text(sentences.write(knee, "n"), x(knee) - 6, box.y + box.h - 6, { size: 1, align: "right" });
  const q = mark(p), d = mark(s);
  pen.box(x(q.x) - 0.45 * em, y(q.y) - 0.45 * em, 0.9 * em, 0.9 * em, of.prompt);
  pen.text("a prompt of 512", Math.min(x(q.x) + em, box.x + box.w), y(q.y) + 1.8 * em, { colour: of.prompt, bold: true, size: 1, halo: true, align: x(q.x) + 9 * em < box.x + box.w ? "left" : "right" });
  pen.c.fillStyle = of.weights;
  pen.c.beginPath();
  pen.c.arc(x(d.x), y(d.y), 0.6 * em, 0, 7);
  pen.c.fill();
  const label = box.w > 20 * em ? `${look.show("readers")}: ${sentences.write(d.y, "FLOP/s")}` : look.show("readers"), left = Math.min(x(d.x) + em, box.x + box.w - pen.wide(label, 1.1));
  pen.text(label, left, y(d.y) + 1.5 * em, { colour: of.weights, bold: true, size: 1, halo: true });
  return { decode: d, prompt: q, knee };
}
