// The second door of the page: a question of capacity, and its answer as one types. The simulator plans in this
// browser as the command llmsim plan does.
"use strict";

// What a question has, as the page asks it. A slider stops at the values listed.
const questions = [
  { id: "rate", label: "Requests", initial: "20", stops: steps(0.1, 1000), show: (x) => `${x} requests/s` },
  { id: "users", label: "or users, in place of requests", initial: "0", stops: [0, ...steps(1, 10000)], show: (x) => x === "0" ? "not told" : `${number(x)} users, who think for 10 s` },
  { id: "prompt", label: "Prompt, mean", initial: "500", stops: steps(10, 20000), show: (x) => `${number(x)} tokens` },
  { id: "output", label: "Answer, mean", initial: "200", stops: steps(2, 4000), show: (x) => `${number(x)} tokens` },
  { id: "ttft", label: "First token within", initial: "1000", stops: steps(50, 60000), show: (x) => milliseconds(Number(x)) },
  { id: "tpot", label: "Each further token within", initial: "50", stops: steps(5, 1000), show: (x) => milliseconds(Number(x)) },
  { id: "share", label: "Share of the requests", initial: "99", stops: [50, 80, 90, 95, 99], show: (x) => `${x}%` },
  { id: "spare", label: "Replicas that may be down", initial: "0", stops: [0, 1, 2, 3], show: (x) => x },
];
const firstMenu = ["l4", "a100-80gb-sxm", "h100-sxm"];

const planner = { on: false, values: {}, menu: {}, answer: undefined, held: undefined, problem: "", ran: 0, sure: false };

// startQuestion returns to the question with which the page begins.
function startQuestion() {
  planner.values = { model: "llama-3.1-8b", ...Object.fromEntries(questions.map((q) => [q.id, q.initial])) };
  planner.menu = Object.fromEntries(firstMenu.map((name) => [name, priceOf(name)]));
}

const priceOf = (name) => app.options.accelerators.find((a) => a.name === name)?.price ?? 0;

// lengths describes how many tokens a prompt or an answer has: they vary by half of their mean.
const longest = (mean) => Math.round(3 * mean);
const lengths = (mean) => `{distribution: normal, mean: ${mean}, std: ${mean / 2}, min: 1, max: ${longest(mean)}}`;

// planSettings returns the question as settings of the shipped plan many-users.
function planSettings() {
  const { values: v, menu } = planner, prompt = Number(v.prompt), output = Number(v.output);
  const hardware = Object.entries(menu).map(([name, price]) => price === priceOf(name) ? name : `{accelerator: ${name}, price: $${price}/h}`);
  const load = v.users === "0" ? `rate: ${v.rate}/s` : `users: ${v.users}, think: 10s`;
  return [`name=A fleet for ${v.model}`, `model=${v.model}`, `max-model-len=${Math.max(8192, longest(prompt) + longest(output))}`,
    `workload={${load}, prompt: ${lengths(prompt)}, output: ${lengths(output)}}`,
    `slo={ttft: ${v.ttft}ms, tpot: ${v.tpot}ms, percentile: ${v.share}}`,
    `menu.hardware=[${hardware.join(", ")}]`, "menu.tensor=[1, 2, 4, 8]", `fleet.spare=${v.spare}`];
}

// quick makes a plan sooner ready, and less sure.
const quick = ["menu.tune=none", "effort.requests=200", "effort.most-requests=800"];

// planAddress returns the question as the part of an address after #, and readQuestion reads it.
function planAddress() {
  const menu = Object.entries(planner.menu).map(([name, price]) => price === priceOf(name) ? name : `${name}:${price}`);
  return ["plan", ...Object.entries(planner.values).map(([k, v]) => `${k}=${encodeURIComponent(v)}`), `menu=${menu.join(",")}`].join("&");
}

function readQuestion(address) {
  startQuestion();
  for (const part of address.split("&").slice(1)) {
    const [key, raw = ""] = part.split(/=(.*)/s);
    let value = raw;
    try { value = decodeURIComponent(raw); } catch { /* as it is */ }
    if (key === "menu") {
      const known = value.split(",").map((item) => item.split(":")).filter(([name]) => app.options.accelerators.some((a) => a.name === name));
      if (known.length) planner.menu = Object.fromEntries(known.map(([name, price]) => [name, Number(price) > 0 ? Number(price) : priceOf(name)]));
    } else if (key === "model" ? app.options.models.some((m) => m.name === value) : questions.some((q) => q.id === key && q.stops.map(String).includes(value)))
      planner.values[key] = value;
  }
}

const isPlan = (address) => address === "plan" || address.startsWith("plan&");

// showPlanner opens or closes the second door.
function showPlanner(on) {
  planner.on = on;
  document.body.classList.toggle("planning", on);
  el("planner").hidden = !on;
  if (!on) return;
  if (app.playing) play(false);
  if (!planner.values.model) startQuestion();
  ask(() => {});
}

// ask changes the question and answers it: first quickly, then as the command does.
function ask(edit) {
  edit(planner);
  history.replaceState(null, "", "#" + planAddress());
  planner.wanted = true;
  drawPlanner();
  planner.busy ??= (async () => {
    while (planner.wanted) {
      planner.wanted = planner.sure = false;
      document.body.dataset.planned = "";
      await answerWith(quick, false);
      await new Promise((resolve) => { setTimeout(resolve, 700); }); // the reader may still be typing
      if (planner.wanted || planner.problem) continue;
      await answerWith([], true);
      planner.sure = !planner.problem;
      document.body.dataset.planned = planner.wanted ? "" : "yes";
    }
    planner.busy = undefined;
    if (planner.problem) document.body.dataset.planned = "yes";
    drawPlanner();
  })();
}

async function answerWith(effort, curves) {
  planner.ran = 0;
  planner.computing = true;
  drawPlanner();
  try {
    const answer = await simulator.plan([...planSettings(), ...effort], curves, () => { if (++planner.ran % 10 === 0) drawPlanner(); });
    if (!planner.wanted) Object.assign(planner, { answer, problem: "" });
  } catch (error) {
    if (!planner.wanted) planner.problem = error.message;
  }
  planner.computing = false;
  drawPlanner();
}

const progress = () => planner.computing ? `${planner.ran} simulations …` : planner.sure ? "" : "a first answer, from short simulations";
const planCommand = () => ["llmsim plan many-users", ...planSettings().map((s) => `--set ${quoted(s)}`)].join(" \\\n  ");

function drawPlanner() { if (planner.on) htmPreact.render(html`<${Planner} />`, el("planner")); }

function Planner() {
  return html`<form onSubmit=${(e) => e.preventDefault()}><h2>Which GPUs, and how many?</h2>
    <label class="control"><span class="top">Model</span><select id="plan-model" value=${planner.values.model} onChange=${(e) => ask((p) => { p.values.model = e.target.value; })}>
      ${app.options.models.map((m) => html`<option value=${m.name}>${m.name}</option>`)}</select></label>
    ${questions.map((q) => html`<${Question} key=${q.id} q=${q} />`)}
    <${Menu} /></form>
    <section aria-label="The answer" aria-live="polite"><${PlanAnswer} /></section>`;
}

function Question({ q }) {
  const value = planner.values[q.id], words = q.show(value);
  const off = q.id === "rate" && planner.values.users !== "0";
  return html`<label class="control"><span class="top">${q.label}<output>${words}</output></span>
    <input type="range" id=${`plan-${q.id}`} min="0" max=${q.stops.length - 1} value=${q.stops.map(String).indexOf(value)} aria-valuetext=${words} disabled=${off}
      onInput=${(e) => ask((p) => { p.values[q.id] = String(q.stops[Number(e.target.value)]); })} /></label>`;
}

// Menu lists the accelerators to choose from, with their prices.
function Menu() {
  const { menu } = planner, others = app.options.accelerators.filter((a) => !(a.name in menu));
  const price = (name) => (e) => ask((p) => { p.menu[name] = Number(e.target.value) > 0 ? Number(e.target.value) : priceOf(name); });
  return html`<fieldset><legend>Accelerators, $ an hour</legend>
    ${Object.entries(menu).map(([name, cost]) => html`<div class="offer" key=${name}><span>${name}</span>
      <input type="number" min="0" step="any" value=${cost} aria-label=${`Price of ${name}, dollars an hour`} onChange=${price(name)} />
      <button type="button" aria-label=${`Without ${name}`} disabled=${Object.keys(menu).length === 1} onClick=${() => ask((p) => { delete p.menu[name]; })}>✕</button></div>`)}
    <select id="plan-more" aria-label="One more accelerator" value="" onChange=${(e) => { const name = e.target.value; if (name) ask((p) => { p.menu[name] = priceOf(name); }); }}>
      <option value="">one more …</option>${others.map((a) => html`<option value=${a.name}>${a.title || a.name}</option>`)}</select></fieldset>`;
}

// PlanAnswer shows the answer, and how it differs from one that is held.
function PlanAnswer() {
  const { answer, problem, held, computing } = planner, one = answer?.answers.models[0], chosen = one?.chosen;
  if (problem) return html`<p id="plan-problem" role="alert">${problem}</p>`;
  if (!one) return html`<p id="plan-progress">${progress()}</p>`;
  const headline = chosen ? `${chosen.replicas} ${chosen.replicas === 1 ? "replica" : "replicas"} of ${chosen.label}, ${perHour(chosen.dollars_per_hour)}` : "No fleet of this menu meets the SLO";
  return html`<h2 id="plan-headline" class=${computing ? "stale" : ""}>${headline}</h2>
    <p class="small" id="plan-progress">${progress()}</p>
    ${held && html`<p id="plan-held">Held: ${held.words}${chosen && held.hourly ? `. This one costs ${difference(chosen.dollars_per_hour, held.hourly)}.` : "."}</p>`}
    <p class="tools"><button type="button" id="plan-hold" onClick=${() => { planner.held = { words: headline, hourly: chosen?.dollars_per_hour }; drawPlanner(); }}>Hold, to compare</button>
      <button type="button" id="plan-command" onClick=${() => offer("This question as a command", planCommand())}>Copy as command</button>
      <button type="button" id="plan-link" onClick=${() => offer("A link to this question", location.href)}>Copy link</button></p>
    <div id="plan-text">${answer.text.map((t) => t.kind === "command" ? html`<pre>${t.words}</pre>` : t.kind === "heading" ? html`<h3>${t.words}</h3>` : html`<p>${t.words}</p>`)}</div>
    ${chosen && html`<div class="graphs"><${LoadCurve} one=${one} /><${PriceCurves} one=${one} /></div>`}
    <${Shapes} one=${one} />`;
}

const perHour = (x) => `$${x.toFixed(2)} an hour`;
const short = (x) => Number(x.toPrecision(x < 100 ? 2 : 3)).toLocaleString("en");
const difference = (now, was) => now === was ? "the same" : `${perHour(Math.abs(now - was))} ${now > was ? "more" : "less"}`;

// LoadCurve draws the share of requests that keep the SLO against the load. Each point is a simulation.
function LoadCurve({ one }) {
  const points = (one.chosen.load_curve ?? []).map((p) => [p.requests_per_second, 100 * p.kept]);
  return html`<${Graph} title="Requests that keep the SLO (%), by requests/s" mark=${one.rate} lines=${[{ name: "", points }]} from=${Math.min(90, ...points.map((p) => p[1]))} to=${100} />`;
}

// PriceCurves draws what a fleet of each kind costs against the load.
function PriceCurves({ one }) {
  const list = (one.price_curves ?? []).map((c) => ({ name: c.label, points: c.points.map((p) => [p.requests_per_second, p.dollars_per_hour]) }));
  return html`<${Graph} title="Price of the fleet ($/h), by requests/s" mark=${one.rate} lines=${list} from=${0} />`;
}

// Graph draws lines of points with their names at their ends, and a mark at the load.
function Graph({ title, lines, mark, from, to = 0 }) {
  const shown = lines.filter((l) => l.points.length > 1), all = shown.flatMap((l) => l.points);
  if (!all.length) return null;
  const W = 420, H = 220, left = 44, right = 12, top = 24, bottom = 26;
  const xs = all.map((p) => p[0]), ys = all.map((p) => p[1]);
  const x1 = Math.max(...xs), y0 = from, y1 = Math.max(...ys, to);
  const x = (v) => left + (W - left - right) * v / x1, y = (v) => H - bottom - (H - top - bottom) * (v - y0) / (y1 - y0);
  const ticks = (low, high) => [0, 0.5, 1].map((k) => low + k * (high - low));
  return html`<figure><svg viewBox=${`0 0 ${W} ${H}`} role="img" aria-label=${title}>
    ${ticks(y0, y1).map((v) => html`<g key=${v}><line class="grid" x1=${left} x2=${W - right} y1=${y(v)} y2=${y(v)} /><text x=${left - 5} y=${y(v) + 4} text-anchor="end">${short(v)}</text></g>`)}
    ${ticks(0, x1).map((v) => html`<text key=${v} x=${x(v)} y=${H - 8} text-anchor="middle">${v ? short(v) : 0}</text>`)}
    <line class="mark" x1=${x(mark)} x2=${x(mark)} y1=${top} y2=${H - bottom} />
    ${shown.map((l, i) => html`<g key=${l.name} style=${`--hue: ${hues[i % hues.length]}`}><polyline points=${l.points.map((p) => `${x(p[0])},${y(p[1])}`).join(" ")} />
      ${l.points.map((p) => html`<circle cx=${x(p[0])} cy=${y(p[1])} r="3.5" />`)}
      <text x=${x(l.points.at(-1)[0]) - 6} y=${y(l.points.at(-1)[1]) + (i % 2 ? 16 : -6)} text-anchor="end" class="name">${l.name}</text></g>`)}
  </svg><figcaption>${title}. Each point is a simulation; the line upright is the load asked for.</figcaption></figure>`;
}

// Shapes lists the kinds of servers that were looked at, the cheapest fleet first.
function Shapes({ one }) {
  const priced = (s) => s.dollars_per_hour || 1e6 + s.at_least_dollars_per_hour || Infinity;
  const list = [...one.shapes].sort((a, b) => priced(a) - priced(b)).slice(0, 12);
  if (!list.length) return null;
  return html`<table id="plan-shapes"><caption>What was looked at</caption><thead><tr><th>server</th><th>fleet</th><th>$/h</th><th>requests/s each</th><th>what limits it</th></tr></thead>
    <tbody>${list.map((s) => html`<tr key=${s.shape}><td>${s.label || s.shape}</td><td>${s.replicas || "–"}</td><td>${s.dollars_per_hour ? s.dollars_per_hour.toFixed(2) : s.at_least_dollars_per_hour ? `≥ ${s.at_least_dollars_per_hour.toFixed(2)}` : "–"}</td><td>${s.rate ? short(s.rate) : "–"}</td><td class="why">${s.limit ?? s.why ?? ""}</td></tr>`)}</tbody></table>`;
}
