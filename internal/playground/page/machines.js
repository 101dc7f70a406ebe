// The picture of measured machines under the laws of decoding and of prompts, with a machine of the reader's own.
"use strict";

// The model of the reader's machine is Llama-3-8B, as most of the machines measured.
const machines = {
  rows: [], shapes: { 4: "circle", 16: "square" },
  own: { bandwidth: 100, tflops: 3, bits: "4" },
  phases: {
    decode: { rate: (r) => r.decode, law: (o, m) => 1e9 * o.bandwidth / m.bytes_per_token, x: "bandwidth / bytes of a token", y: "tokens/s written" },
    prompt: { rate: (r) => r.prefill, law: (o, m) => 1e12 * o.tflops / m.flops_per_prompt_token, x: "FLOP/s / FLOP of a token", y: "tokens/s of a prompt read" },
  },
};
const bitsOf = (r) => r.weights === "f16" ? "16" : "4";
const short = (x) => Number(x.toPrecision(x < 100 ? 2 : 3)).toLocaleString("en");

// own changes the reader's machine, which the address holds.
function own(change) {
  Object.assign(machines.own, change);
  const { bandwidth, tflops, bits } = machines.own;
  app.state.machine = [bandwidth.toPrecision(3), tflops.toPrecision(3), bits].map((x) => String(Number(x))).join(",");
  keepAddress();
  update();
}

// readMachine takes the measured machines from the page, and the reader's own from the state.
function readMachine() {
  if (!machines.rows.length) machines.rows = JSON.parse(el("machines-data").textContent);
  const [bandwidth, tflops, bits] = app.state.machine.split(",");
  machines.own = { bandwidth: Math.min(1e4, Math.max(10, Number(bandwidth) || 100)), tflops: Math.min(1e3, Math.max(0.1, Number(tflops) || 3)), bits: bits === "16" ? "16" : "4" };
}

// Machines shows the sliders of the reader's machine.
function Machines() {
  const { bandwidth, tflops, bits } = machines.own;
  const slider = (id, label, words, value, low, high, set) => html`<label class="control"><span class="top">${label}<output for=${id}>${words}</output></span>
    <input type="range" id=${id} min=${low} max=${high} step="0.02" value=${value} aria-valuetext=${words} onInput=${(e) => own(set(10 ** Number(e.target.value)))} /></label>`;
  return html`<div id="machines">${slider("machine-bandwidth", "Memory bandwidth", `${short(bandwidth)} GB/s`, Math.log10(bandwidth), 1, 4, (bandwidth) => ({ bandwidth }))}
    ${slider("machine-flops", "Arithmetic", `${short(tflops)} TFLOP/s`, Math.log10(tflops), -1, 3, (tflops) => ({ tflops }))}
    <label class="control"><span class="top">Weights</span><select id="machine-bits" value=${bits} onChange=${(e) => own({ bits: e.target.value })}><option value="4">4 bits</option><option value="16">16 bits</option></select></label></div>`;
}

// Chart shows all machines, in place of the server.
function Chart() {
  return Object.keys(machines.phases).map((name) => {
    const { words, picture } = drawPhase(name);
    return html`<figure key=${name}><div id="machine-${name}" dangerouslySetInnerHTML=${{ __html: picture }}></div><figcaption id="machine-${name}-words">${words}</figcaption></figure>`;
  });
}

// expected returns what the law says for the reader's machine, and what machines like it reach of it: the
// middle half of those measured with as many bits.
function expected(phase) {
  const like = machines.rows.filter((r) => bitsOf(r) === machines.own.bits);
  const model = like.find((r) => r.model === "llama-3-8b");
  const law = phase.law(machines.own, model);
  const shares = like.map((r) => phase.rate(r).measured / phase.rate(r).law).sort((a, b) => a - b);
  const at = (q) => shares[Math.round(q * (shares.length - 1))];
  return { law, low: law * at(0.25), middle: law * at(0.5), high: law * at(0.75) };
}

function drawPhase(name) {
  const phase = machines.phases[name], mine = expected(phase);
  const all = machines.rows.flatMap((r) => [phase.rate(r).law, phase.rate(r).measured]).concat(mine.law, mine.low);
  const low = Math.log10(Math.min(...all) / 1.6), high = Math.log10(Math.max(...all) * 1.6);
  const size = { width: 420, height: 300, left: 62, bottom: 44, top: 8, right: 8 };
  const x = (v) => size.left + (Math.log10(v) - low) / (high - low) * (size.width - size.left - size.right);
  const y = (v) => size.height - size.bottom - (Math.log10(v) - low) / (high - low) * (size.height - size.bottom - size.top);
  const parts = [];
  for (let e = Math.ceil(low); e <= high; e++) {
    const v = 10 ** e;
    parts.push(`<line class="grid" x1="${x(v)}" x2="${x(v)}" y1="${size.top}" y2="${size.height - size.bottom}"/><line class="grid" y1="${y(v)}" y2="${y(v)}" x1="${size.left}" x2="${size.width - size.right}"/>`,
      `<text x="${x(v)}" y="${size.height - size.bottom + 15}" text-anchor="middle">${short(v)}</text><text x="${size.left - 6}" y="${y(v) + 4}" text-anchor="end">${short(v)}</text>`);
  }
  parts.push(`<line class="law" x1="${x(10 ** low)}" y1="${y(10 ** low)}" x2="${x(10 ** high)}" y2="${y(10 ** high)}"/>`);
  for (const r of machines.rows) {
    const { law, measured, predicted } = phase.rate(r), at = `translate(${x(law)} ${y(measured)})`;
    parts.push(`<g class="bits-${bitsOf(r)}"><title>${r.device}, ${r.model} in ${bitsOf(r)} bits: ${short(measured)} tokens/s, ${Math.round(100 * measured / law)}% of the law</title>` +
      (bitsOf(r) === "4" ? `<circle transform="${at}" r="4.5"/>` : `<rect transform="${at}" x="-4" y="-4" width="8" height="8"/>`) + "</g>");
    if (predicted) parts.push(`<circle class="predicted" transform="translate(${x(law)} ${y(predicted)})" r="7"><title>${r.device}: ${short(predicted)} predicted</title></circle>`);
  }
  parts.push(`<g class="own"><line x1="${x(mine.law)}" x2="${x(mine.law)}" y1="${y(mine.low)}" y2="${y(mine.high)}"/><path transform="translate(${x(mine.law)} ${y(mine.middle)})" d="M0-9L9 0L0 9L-9 0Z"/><text x="${x(mine.law)}" y="${y(mine.low) + 20}" text-anchor="${x(mine.law) > size.width / 2 ? "end" : "start"}">your machine</text></g>`,
    `<text x="${(size.left + size.width) / 2}" y="${size.height - 8}" text-anchor="middle">${phase.x} (tokens/s)</text>`,
    `<text transform="translate(14 ${size.height / 2}) rotate(-90)" text-anchor="middle">${phase.y}</text>`);
  const words = `Your machine: at most ${short(mine.law)} tokens/s by the law; machines like it reach ${short(mine.low)} to ${short(mine.high)} (${name === "decode" ? "written" : "of a prompt, read"}).`;
  const label = `${machines.rows.length} measured machines under the line of the law. ${words}`;
  return { words, picture: `<svg viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${label}">${parts.join("")}</svg>` };
}
