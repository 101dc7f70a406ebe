// Draws the charts of a report from the data in the page. Each chart is a view of its own, so that all fit any width. A range of time,
// brushed in the first one or entered in the form, chooses the requests that the others show.
"use strict";
(async function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999"];
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const runs = data.map((r) => r.name);
  const several = runs.length > 1, narrow = window.innerWidth < 640, large = window.innerWidth >= 1600;
  const byRun = several ? { color: { field: "run", type: "nominal", scale: { domain: runs, range: palette }, title: null, legend: { labelLimit: 400, columns: narrow ? 1 : 0 } } } : {};

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  function config() {
    const ink = css("--ink"), line = css("--line"), size = large ? 16 : 12;
    return {
      background: "transparent", font: "system-ui, sans-serif", view: { stroke: line },
      axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, labelFontSize: size, titleFontSize: size + 1, titleFontWeight: "normal", labelOverlap: "greedy", labelSeparation: 8 },
      legend: { labelColor: ink, titleColor: ink, labelFontSize: size, symbolSize: 120, orient: "top", title: null }, range: { category: palette },
    };
  }

  const flat = (key) => data.flatMap((r) => r[key].map((row) => ({ run: r.name, ...row })));
  const most = (rows, field) => rows.reduce((m, r) => Math.max(m, r[field]), 0);
  const unitOf = (seconds, at) => at.find((u) => seconds >= u.from);
  const clock = [{ from: 14400, by: 3600, name: "h" }, { from: 600, by: 60, name: "min" }, { from: 0, by: 1, name: "s" }];
  const span = [{ from: 10, by: 1, name: "s" }, { from: 0, by: 0.001, name: "ms" }];

  const series = flat("series"), requests = flat("requests");
  const hour = unitOf(most(series, "at"), clock);
  const units = Object.fromEntries(["ttft", "tpot", "e2e"].map((f) => [f, unitOf(most(requests, f), span)]));
  for (const p of series) p.at /= hour.by;
  for (const r of requests) {
    r.at /= hour.by;
    for (const f of Object.keys(units)) r[f] /= units[f].by;
  }
  for (const e of document.querySelectorAll(".unit")) e.textContent = hour.name;
  const counts = series.flatMap((p) => [
    { run: p.run, at: p.at, what: "in a batch", n: p.running },
    { run: p.run, at: p.at, what: "waiting", n: p.waiting },
  ]);
  const time = (title) => ({ field: "at", type: "quantitative", title: title + " (" + hour.name + ")", scale: { nice: false } });
  const limit = (field) => (data[0].slo[field] || 0) / units[field].by;

  // within adds the line of the SLO to a chart of a latency.
  function within(field, channel, main) {
    const at = limit(field);
    const shown = main.requests.reduce((m, r) => Math.max(m, r[field]), 0);
    const layer = [{ mark: main.mark, encoding: main.encoding, ...(main.params ? { params: main.params } : {}) }];
    if (at > 0 && at < 20 * shown) {
      const value = { [channel]: { datum: at } };
      layer.push({ data: { values: [{}] }, mark: { type: "rule", strokeDash: [6, 4], strokeWidth: 2, color: css("--bad") }, encoding: value });
      layer.push({ data: { values: [{}] }, mark: { type: "text", text: "SLO " + at + " " + units[field].name, color: css("--bad"), align: channel === "x" ? "right" : "left", dx: channel === "x" ? -5 : 4, dy: channel === "x" ? 0 : -8, fontSize: large ? 16 : 12 }, encoding: { ...value, [channel === "x" ? "y" : "x"]: { value: channel === "x" ? 10 : 0 } } });
    }
    return { height: main.height, data: { name: "requests", values: main.requests }, layer };
  }

  const titles = { id: "request", prompt: "prompt tokens", output: "output tokens", ttft: "TTFT", tpot: "TPOT", e2e: "whole request" };
  const specs = () => ({
    timeline: {
      height: 200, data: { name: "counts", values: counts },
      params: [{ name: "brush", select: { type: "interval", encodings: ["x"] } }],
      mark: { type: "line", interpolate: "step-after", strokeWidth: 1.5 },
      encoding: {
        x: time("time"), y: { field: "n", type: "quantitative", title: "requests", axis: { tickMinStep: 1 } },
        color: several ? byRun.color : { field: "what", type: "nominal", title: null, scale: { range: palette } },
        strokeDash: { field: "what", type: "nominal", title: null },
      },
    },
    memory: {
      height: 140, data: { values: series }, mark: { type: "line", interpolate: "step-after", strokeWidth: 1.5, color: palette[0] },
      encoding: { x: time("time"), y: { field: "kv", type: "quantitative", title: "in use", axis: { format: "%" }, ...(most(series, "kv") > 0.5 ? { scale: { domain: [0, 1] } } : {}) }, ...byRun },
    },
    replicas: {
      height: 120, data: { values: series }, mark: { type: "line", interpolate: "step-after", strokeWidth: 2, color: palette[2] },
      encoding: { x: time("time"), y: { field: "up", type: "quantitative", title: "replicas", axis: { tickMinStep: 1 } }, ...byRun },
    },
    scatter: within("ttft", "y", {
      height: 260, requests, mark: { type: "circle", size: 18, opacity: 0.6, color: palette[0] },
      encoding: {
        x: time("arrival"), y: { field: "ttft", type: "quantitative", title: "time to first token (" + units.ttft.name + ")", scale: { type: "log" }, axis: { format: ",.4~r" } },
        tooltip: Object.keys(titles).map((field) => ({ field, type: "quantitative", format: ",.4~r", title: titles[field] + (units[field] ? " (" + units[field].name + ")" : "") })), ...byRun,
      },
    }),
    ttft: histogram("ttft", "time to first token"),
    tpot: histogram("tpot", "time per output token"),
    operators: {
      height: 300, data: { values: flat("parts") }, mark: "bar",
      encoding: {
        x: { field: "batch", type: "ordinal", title: "sequences in the batch", axis: { labelAngle: 0 } },
        y: { field: "ms", type: "quantitative", title: "time of a step (ms)" },
        color: { field: "name", type: "nominal", title: null, sort: { field: "rank" }, legend: { columns: narrow ? 1 : 4, labelLimit: 260 } },
        order: { field: "rank", type: "quantitative" },
        opacity: { condition: { test: "datum.fits", value: 1 }, value: 0.35 },
        tooltip: [{ field: "name", type: "nominal", title: "part" }, { field: "ms", type: "quantitative", title: "ms", format: ".3~g" }, { field: "batch", type: "quantitative", title: "sequences" }],
        ...(several ? { xOffset: { field: "run", type: "nominal" } } : {}),
      },
    },
  });

  function histogram(field, title) {
    return within(field, "x", {
      height: 180, requests: requests.filter((r) => r[field] > 0), mark: { type: "bar", color: palette[0] },
      encoding: {
        x: { field, bin: { maxbins: 40 }, type: "quantitative", title: title + " (" + units[field].name + ")", axis: { format: ",.4~r" } },
        y: { aggregate: "count", type: "quantitative", title: "requests", ...(several ? { stack: null } : {}) },
        ...byRun, ...(several ? { opacity: { value: 0.6 } } : {}),
      },
    });
  }

  const views = {};
  async function draw() {
    for (const [id, spec] of Object.entries(specs())) {
      if (!document.getElementById(id)) continue;
      const description = document.getElementById(id + "-title").textContent + ". " + document.getElementById(id + "-words").textContent.trim();
      const whole = { $schema: "https://vega.github.io/schema/vega-lite/v6.json", description, width: "container", autosize: { type: "fit", contains: "padding" }, ...spec, config: config() };
      views[id] = (await vegaEmbed("#" + id, whole, { actions: false, renderer: "svg" })).view;
      name(id, description);
    }
    views.timeline.addSignalListener("brush", (_, range) => choose(range.at));
  }

  // name lets a chart be one picture with one description: of its marks some have a role and no name.
  function name(id, description) {
    const picture = document.querySelector("#" + id + " svg");
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", description);
    for (const part of picture.children) part.setAttribute("aria-hidden", "true");
  }

  // choose shows the requests that arrived in a range of time, or all.
  function choose(range) {
    const those = range ? requests.filter((r) => r.at >= range[0] && r.at <= range[1]) : requests;
    for (const [id, keep] of [["scatter", () => true], ["ttft", (r) => r.ttft > 0], ["tpot", (r) => r.tpot > 0]]) {
      views[id].data("requests", those.filter(keep)).runAsync();
    }
    tell(those, range);
  }

  const form = document.getElementById("range");
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    const value = (id, otherwise) => (document.getElementById(id).value === "" ? otherwise : Number(document.getElementById(id).value));
    choose([value("from", 0), value("to", Infinity)]);
  });
  form.addEventListener("reset", () => choose(null));

  function tell(those, range) {
    const when = range ? "arriving from " + range[0].toFixed(1) + " " + hour.name + (range[1] < Infinity ? " to " + range[1].toFixed(1) + " " + hour.name : "") : "in all";
    const each = data.map((run) => {
      const mine = those.filter((r) => r.run === run.name).map((r) => r.ttft).sort((a, b) => a - b);
      const quantile = (q) => (mine.length ? Number(mine[Math.floor(q * (mine.length - 1))].toPrecision(3)).toLocaleString("en") + " " + units.ttft.name : "–");
      const sampled = run.requests.length < run.completed ? " sampled" : "";
      return (several ? run.name + ": " : "") + mine.length.toLocaleString("en") + sampled + " " + when + "; TTFT p50 " + quantile(0.5) + ", p99 " + quantile(0.99);
    });
    document.getElementById("chosen").textContent = "– " + each.join(" · ");
  }

  await draw();
  tell(requests, null);
  dark.addEventListener("change", async () => { await draw(); choose(null); });
  document.body.dataset.ready = "yes";
})();
