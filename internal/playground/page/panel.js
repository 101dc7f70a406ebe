// The panel beside the picture: one idea at a time with the controls it needs, or all controls.
"use strict";
const { html } = htmPreact;

// update shows the state in the panel and the header.
function update() {
  htmPreact.render(html`<${Panel} />`, el("panel"));
  el("all-controls").setAttribute("aria-expanded", String(app.controls));
  el("all-controls").textContent = app.controls ? "Fewer controls" : "All controls";
  document.querySelectorAll(".stage").forEach((figure, i) => { figure.hidden = i >= count(); });
  if (count() > 1) {
    el("name-0").textContent = app.state.values.batching;
    el("name-1").textContent = app.state.beside;
  } else el("name-0").textContent = "";
}

function Panel() {
  if (app.controls) return html`<h2>All controls</h2><${Problem} /><${Figures} /><${Everything} />`;
  return html`<h2 tabindex="-1" id="story">A server of a language model, at work</h2>
    <${Words} text=${"Requests come and wait in the {queue|queue}. A step computes prompts (wide blocks in the {batch|batch}) and gives every request that decodes one token (a tick). For each step {step|all weights stream past}, from memory to arithmetic. Every token leaves its keys and values in {memory|KV memory} until the answer is complete."} />
    <p>Open the tap: from this moment on, requests come at another rate.</p>
    <${Slider} c=${controls.find((c) => c.id === "rate")} /><${Past} /><${Problem} /><${Figures} />
    <p>Why it is so: <a href="#book">the book</a>.</p>
    <p class="small">llmsim ${app.options.version}. The figures are those of <code>llmsim scenario</code>, byte by byte. Nothing is sent anywhere. The same address gives the same figures.</p>`;
}

// Words shows a text in which {batch|words} names a region of the picture.
function Words({ text }) {
  return html`<p>${text.split(/(\{[^}]*\})/).map((part) => {
    if (!part.startsWith("{")) return part;
    const [region, words] = part.slice(1, -1).split("|");
    const on = () => look({ region }), off = () => look({});
    return html`<span class="ref" tabindex="0" data-region=${region} onMouseEnter=${on} onMouseLeave=${off} onFocus=${on} onBlur=${off}>${words}</span>`;
  })}</p>`;
}

const figureOf = ({ run, key }) => key.split(".").reduce((v, k) => v?.[k], app.runs[run]?.figures);

const percent = (share) => share >= 1 ? "100%" : `${(100 * share).toPrecision(share < 0.1 ? 2 : 3)}%`;
const dollars = (x) => `$${x.toPrecision(3)}`;
const whole = (x) => number(Math.round(x));

// tiles are the figures of a run: a name, the value, a note, and the key that must be there.
const tiles = [
  ["Time to first token", "mean_ttft_ms", milliseconds, (r) => `99% within ${milliseconds(r.p99_ttft_ms)}`],
  ["Time per output token", "mean_tpot_ms", milliseconds, (r) => `99% within ${milliseconds(r.p99_tpot_ms)}`],
  ["Throughput", "output_throughput", (x) => `${whole(x)} tokens/s`, (r) => `${r.request_throughput.toFixed(2)}${r.offered_rate ? ` of ${r.offered_rate.toFixed(2)}` : ""} requests/s`],
  ["Within the SLO", "slo_attainment.all", percent, (r) => `TTFT ${limit(r.slo.ttft)}, TPOT ${limit(r.slo.tpot)}`],
  ["Batch", "mean_decode_batch", (x) => `${x.toFixed(1)} decode`, (r) => `${r.peak_batch} at most`],
  ["KV memory", "kv_usage", percent, (r) => `${percent(r.peak_kv_usage)} at most, ${number(r.preemptions)} preempted`],
  ["Queue", "mean_waiting", (x) => `${x.toFixed(1)} wait`, (r) => `${number(r.peak_waiting)} at most`],
  ["Cost", "cost_per_million_output_tokens", dollars, () => "for a million output tokens"],
];

// limit writes a limit of the SLO.
const limit = (l) => l === undefined ? "any" : typeof l === "string" ? l : JSON.stringify(l);

// Figures shows the results of a minute with the settings, from an empty server.
function Figures() {
  const names = ["main", "beside"].filter((name) => app.runs[name]);
  if (!names.length) return null;
  const main = app.runs.main.figures;
  const shown = app.controls ? tiles : tiles.slice(0, 4);
  return html`<h3>A run with these settings ${main.slo_met === undefined ? "" : html`<span id="verdict" class=${main.slo_met ? "met" : "missed"}>${main.slo_met ? "meets the SLO" : "misses the SLO"}</span>`}</h3>
    <dl id="figures" class=${app.stale ? "stale" : ""}>${shown.map(([title, key, form, note]) => html`<div key=${title}><dt>${title}</dt>${names.map((name) => {
    const value = figureOf({ run: name, key });
    return value === undefined || value === null ? html`<dd class="value">–</dd>` : html`<dd class="value">${form(value)}</dd><dd class="note">${names.length > 1 ? `${name === "main" ? app.state.values.batching : app.state.beside}: ` : ""}${note(app.runs[name].figures)}</dd>`;
  })}</div>`)}</dl><${Seeds} />`;
}

// Seeds says what other arrivals of the same kind lead to.
function Seeds() {
  if (app.seeds.length < 2) return html`<p class="small" id="seeds">Other arrivals are simulated …</p>`;
  const shares = app.seeds.map((f) => f.slo_attainment?.all ?? 0), met = app.seeds.filter((f) => f.slo_met).length;
  const first = app.seeds.map((f) => f.p99_ttft_ms);
  return html`<p class="small" id="seeds">With ${app.seeds.length} draws of the arrivals (seeds ${app.seeds[0].seed} to ${app.seeds.at(-1).seed}), the SLO is met in ${met}: ${percent(Math.min(...shares))} to ${percent(Math.max(...shares))} of the requests keep it, and 99% have their first token within ${milliseconds(Math.min(...first))} to ${milliseconds(Math.max(...first))}.</p>`;
}

const Problem = () => html`<p id="problem" role="alert">${app.problem}</p>`;

// Past says that other requests came before, and offers to begin anew.
function Past() {
  const { past } = app.state;
  if (!past.length) return null;
  return html`<p class="small">These requests come since ${milliseconds(past.at(-1).until)}. <button type="button" id="anew" onClick=${() => change((s) => Object.assign(s, { past: [], at: 0 }))}>Begin anew with them</button></p>`;
}

function Slider({ c }) {
  const { values } = app.state, policy = policyOf(app.options, values.batching);
  const off = c.id === "limit" && !policy.limit || c.id === "budget" && !policy.budget || c.id === "accept" && values.draft === "0";
  const words = off ? (c.id === "accept" ? "no drafts" : "it has none") : c.show(String(values[c.id]));
  const at = c.stops.map(String).indexOf(String(values[c.id]));
  return html`<label class="control"><span class="top">${c.label}<output id="${c.id}-value" for=${c.id}>${words}</output></span>
    <input type="range" id=${c.id} min="0" max=${c.stops.length - 1} step="1" value=${at} disabled=${off} aria-valuetext=${words} onInput=${(e) => control(c, String(c.stops[e.target.value]))} /></label>`;
}

function Choice({ c }) {
  const { models, accelerators, batching } = app.options;
  const list = c.id === "model" ? models.map((m) => [m.name, `${m.name} (${billions(m.parameters)})`])
    : c.id === "hardware" ? accelerators.map((a) => [a.name, `${a.name} (${Math.round(a.memory / 2 ** 30)} GiB, ${number(Math.round(a.bandwidth / 1e9))} GB/s)`])
      : batching.map((p) => [p.name, p.name]);
  return html`<label class="control"><span class="top">${c.label}</span><select id=${c.id} value=${app.state.values[c.id]} onChange=${(e) => control(c, e.target.value)}>
    ${list.map(([value, words]) => html`<option key=${value} value=${value}>${words}</option>`)}</select></label>`;
}

const billions = (n) => n >= 1e9 ? `${Number((n / 1e9).toPrecision(3))} B` : `${Math.round(n / 1e6)} M`;

// Everything is the form of all controls.
function Everything() {
  const typed = (id, label, value, example, set) => html`<label class="control">${label}<input type="text" id=${id} spellcheck="false" placeholder=${example} value=${value} onChange=${(e) => change(set(e.target.value.trim()))} /></label>`;
  return html`<form id="controls" aria-label="Scenario" onSubmit=${(e) => e.preventDefault()}>
    ${["Users", "Server", "Scheduler"].map((group) => html`<fieldset key=${group}><legend>${group}</legend>
      ${controls.filter((c) => c.group === group).map((c) => c.stops ? html`<${Slider} key=${c.id} c=${c} />` : html`<${Choice} key=${c.id} c=${c} />`)}
      ${group === "Users" && html`<${Past} />`}</fieldset>`)}
    ${typed("beside", "A second server beside it, which differs by", app.state.beside, "orca, or hardware=a100-80gb-sxm", (text) => (s) => Object.assign(s, { beside: text, at: 0 }))}
    ${typed("more", "Other settings, as --set takes them", app.state.more.join(" "), "seed=1 workload.requests=20", (text) => (s) => Object.assign(s, { more: text.split(/\s+/).filter(Boolean), at: 0, past: [] }))}
  </form>`;
}
