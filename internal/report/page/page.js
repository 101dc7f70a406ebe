// Draws the charts of a report from the data in the page. Each chart is a view of its own, so that all fit any width; the range
// brushed in the first one chooses the requests that the others show.
"use strict";
(async function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const palette = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999"];
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const runs = data.runs.map((r) => r.name);
  const several = runs.length > 1, narrow = window.innerWidth < 640;
  const byRun = several ? { color: { field: "run", type: "nominal", scale: { domain: runs, range: palette }, title: null } } : {};

  function config() {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink").trim(), line = style.getPropertyValue("--line").trim();
    return {
      background: "transparent", font: "system-ui, sans-serif", view: { stroke: line },
      axis: { labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 12, titleFontSize: 13, titleFontWeight: "normal" },
      legend: { labelColor: ink, titleColor: ink, labelFontSize: 12, orient: "top", title: null }, range: { category: palette },
    };
  }

  const flat = (key, add) => data.runs.flatMap((r) => r[key].map((row) => ({ run: r.name, ...row, ...(add ? add(row) : {}) })));
  const series = flat("series");
  const requests = flat("requests");
  const counts = series.flatMap((p) => [
    { run: p.run, at: p.at, what: "in a batch", n: p.running },
    { run: p.run, at: p.at, what: "waiting", n: p.waiting },
  ]);
  const time = (title) => ({ field: "at", type: "quantitative", title, scale: { nice: false } });

  const specs = {
    timeline: {
      height: 200, data: { name: "counts", values: counts },
      params: [{ name: "brush", select: { type: "interval", encodings: ["x"] } }],
      mark: { type: "line", interpolate: "step-after", strokeWidth: 1.5 },
      encoding: {
        x: time("time (s)"), y: { field: "n", type: "quantitative", title: "requests" },
        color: { field: several ? "run" : "what", type: "nominal", title: null, scale: { range: palette } },
        ...(several ? { strokeDash: { field: "what", type: "nominal", title: null } } : {}),
      },
    },
    memory: {
      height: 140, data: { values: series }, mark: { type: "line", interpolate: "step-after", strokeWidth: 1.5, color: palette[0] },
      encoding: { x: time("time (s)"), y: { field: "kv", type: "quantitative", title: "KV memory", axis: { format: "%" } }, ...byRun },
    },
    scatter: {
      height: 260, data: { name: "requests", values: requests },
      mark: { type: "circle", size: 18, opacity: 0.6, color: palette[0] },
      encoding: {
        x: time("arrival (s)"), y: { field: "ttft", type: "quantitative", title: "time to first token (s)", scale: { type: "log" } },
        tooltip: ["id", "prompt", "output", "ttft", "tpot", "e2e"].map((field) => ({ field, type: "quantitative" })), ...byRun,
      },
    },
    ttft: histogram("ttft", "time to first token (s)"),
    tpot: histogram("tpot", "time per output token (s)"),
    operators: {
      height: 260, data: { values: flat("parts") }, mark: "bar",
      encoding: {
        x: { field: "batch", type: "ordinal", title: "sequences in the batch", axis: { labelAngle: 0 } },
        y: { field: "ms", type: "quantitative", title: "time of a step (ms)" },
        color: { field: "name", type: "nominal", title: null, sort: { field: "rank" }, legend: { columns: narrow ? 1 : 4, labelLimit: 240 } },
        order: { field: "rank", type: "quantitative" },
        tooltip: [{ field: "name", type: "nominal" }, { field: "ms", type: "quantitative", title: "ms" }],
        ...(several ? { xOffset: { field: "run", type: "nominal" } } : {}),
      },
    },
  };

  function histogram(field, title) {
    return {
      height: 180, data: { name: "requests", values: requests.filter((r) => r[field] > 0) },
      mark: { type: "bar", color: palette[0] },
      encoding: {
        x: { field, bin: { maxbins: 40 }, type: "quantitative", title },
        y: { aggregate: "count", type: "quantitative", title: "requests", ...(several ? { stack: null } : {}) },
        ...byRun, ...(several ? { opacity: { value: 0.6 } } : {}),
      },
    };
  }

  const views = {};
  async function draw() {
    for (const [id, spec] of Object.entries(specs)) {
      const whole = { $schema: "https://vega.github.io/schema/vega-lite/v6.json", width: "container", autosize: { type: "fit", contains: "padding" }, ...spec, config: config() };
      views[id] = (await vegaEmbed("#" + id, whole, { actions: false, renderer: "svg" })).view;
    }
    views.timeline.addSignalListener("brush", (_, range) => choose(range.at));
  }

  // choose shows the requests that arrived in a range of time, or all.
  function choose(range) {
    const within = range ? requests.filter((r) => r.at >= range[0] && r.at <= range[1]) : requests;
    for (const [id, keep] of [["scatter", () => true], ["ttft", (r) => r.ttft > 0], ["tpot", (r) => r.tpot > 0]]) {
      views[id].data("requests", within.filter(keep)).runAsync();
    }
    tell(within, range);
  }

  function tell(within, range) {
    const sampled = data.runs.some((r) => r.requests.length < r.completed) ? " sampled" : "";
    const ttft = within.map((r) => r.ttft).sort((a, b) => a - b);
    const quantile = (q) => (ttft.length ? Number((1000 * ttft[Math.floor(q * (ttft.length - 1))]).toPrecision(3)).toLocaleString("en") + " ms" : "–");
    const when = range ? `arriving from ${range[0].toFixed(1)} s to ${range[1].toFixed(1)} s` : "in all";
    document.getElementById("chosen").textContent = `– ${within.length.toLocaleString("en")}${sampled} ${when}; TTFT p50 ${quantile(0.5)}, p99 ${quantile(0.99)}`;
  }

  await draw();
  tell(requests, null);
  dark.addEventListener("change", async () => { await draw(); choose(null); });
  document.body.dataset.ready = "yes";
})();
