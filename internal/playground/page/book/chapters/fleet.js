// How many servers, for how much: a promise to users, the cliff behind it, and the cheapest fleet that keeps it.
"use strict";
(() => {
  const gpus = { "l40s": "L40S", "a100-80gb-sxm": "A100", "h100-sxm": "H100" }, sizes = [1, 2, 3, 4, 5, 6, 8];
  const lines = { "l40s": "prompt", "a100-80gb-sxm": "kv", "h100-sxm": "weights" };

  // kept draws the share of requests within the limits against what a fleet costs an hour, a line for each kind of GPU.
  function kept(canvas, look) {
    const pen = machine.pad(canvas), { of, em } = pen;
    const fleets = Object.keys(gpus).map((gpu) => ({ gpu, points: sizes.map((n) => {
      const l = look.with("gpu", gpu).with("replicas", n);
      return { n, share: l.value("usual.slo_attainment.all"), hour: l.value("usual.cost / usual.accelerator_hours") * n };
    }) }));
    if (fleets.some((f) => f.points.some((p) => !(p.share >= 0 && p.hour > 0)))) return undefined;
    const box = { x: 4 * em, y: 2.6 * em, w: pen.width - 5.4 * em, h: pen.height - 6 * em };
    const most = 12, x = (hour) => box.x + Math.min(1, hour / most) * box.w, y = (share) => box.y + (1 - share) * box.h;
    const marks = Array.from({ length: 200 }, (_, k) => [box.x + k / 200 * box.w, y(0.99)]); // where something is drawn
    pen.text(`Within the limits, at ${look.show("rate")}`, 0, em, { colour: of.ink, bold: true, size: 1 });
    for (const share of [0, 0.5, 0.99]) {
      pen.path([[box.x, y(share)], [box.x + box.w, y(share)]], share === 0.99 ? of.ink : of.line, share === 0.99 ? 2 : 1);
      pen.text(`${100 * share} %`, box.x - 0.4 * em, y(share) + 0.35 * em, { size: 1, align: "right" });
      for (let k = 0; k < 80; k++) marks.push([(k % 20) / 20 * box.x, y(share) + (k / 80 - 0.5) * em]);
    }
    for (const hour of [0, 3, 6, 9, 12]) pen.text(`$${hour}`, x(hour), box.y + box.h + 1.4 * em, { size: 1, align: "center" });
    pen.text("the fleet costs an hour →", box.x + box.w, box.y + box.h + 2.8 * em, { colour: of.ink, bold: true, size: 1, align: "right" });
    const dash = { prompt: [2, 4], kv: [9, 5], weights: [] }, names = [];
    for (const { gpu, points } of fleets) {
      const shown = points.filter((p) => p.hour <= most), colour = of[lines[gpu]];
      pen.c.setLineDash(dash[lines[gpu]]);
      pen.path(shown.map((p) => [x(p.hour), y(p.share)]), colour, 3);
      pen.c.setLineDash([]);
      for (const p of shown) {
        const here = gpu === look.h.gpu && p.n === look.h.replicas;
        pen.c.fillStyle = colour;
        pen.c.beginPath();
        pen.c.arc(x(p.hour), y(p.share), (here ? 0.6 : 0.3) * em, 0, 7);
        pen.c.fill();
        if (here) names.unshift([`${p.n} × ${gpus[gpu]}`, p, of.ink]);
      }
      shown.slice(1).forEach((b, k) => { for (let t = 0; t <= 1; t += 0.02) marks.push([x(shown[k].hour + t * (b.hour - shown[k].hour)), y(shown[k].share + t * (b.share - shown[k].share))]); });
      // A line is named at a point of its own, where no other line lies over it.
      const alone = shown.filter((p) => !fleets.some((f) => f.gpu !== gpu && f.points.some((o) => Math.abs(o.share - p.share) < 0.02)));
      if (shown.length && gpu !== look.h.gpu) names.push([gpus[gpu], alone.at(-1) ?? shown.at(-1), colour]);
    }
    const taken = []; // by names
    for (const [name, p, colour] of names) { // each beside its point, off other names, where it meets little of lines
      const wide = pen.wide(name, 1, true), meets = ([left, base]) => marks.filter(([a, b]) => a > left - 4 && a < left + wide + 4 && b > base - em && b < base + 0.35 * em).length;
      const lies = ([left, base]) => taken.some((o) => left < o.right && left + wide > o.left && Math.abs(base - o.base) < 1.3 * em);
      const places = [1, 1.8, 2.8, 4.2].flatMap((far) => [1.3 * far, 0.35, -0.8 * far].flatMap((down) => [0.8 * far * em, -wide - 0.8 * far * em, -wide / 2].map((aside) => [x(p.hour) + aside, y(p.share) + down * em, far])))
        .filter(([left, base]) => left > 2 && left + wide < pen.width && base > 2.2 * em && base < box.y + box.h - 0.3 * em);
      const dear = (place) => 3 * meets(place) + 8 * place[2] + (lies(place) ? 1e6 : 0), [left, base] = places.reduce((best, place) => dear(place) < dear(best) ? place : best);
      pen.text(name, left, base, { colour, bold: true, size: 1, halo: true });
      taken.push({ left, right: left + wide, base });
    }
    return { fleets };
  }

  const fleet = "{replicas} × {gpu}", inside = "{=slo_attainment.all % big}";
  chapter({
    id: "fleet", number: 15, title: "How many, for how much?", ideas: "SLO, capacity, the price of a fleet", short: "Fleet", draw: kept, picture: "Lines: the share of requests within the limits against dollars an hour, for fleets of three kinds of GPU",
    question: "You promise an answer that begins at once and reads smoothly. Which machines keep the promise, and for how little?",
    handles: {
      rate: { label: "Requests a second", stops: [5, 10, 20, 40, 60, 80], at: 20, tone: "prompt", show: (r) => `${r} requests a second` },
      gpu: { label: "Kind of GPU", stops: Object.keys(gpus), at: "h100-sxm", tone: "weights", show: (g) => gpus[g] },
      replicas: { label: "Servers, of one GPU each", stops: sizes, at: 1, tone: "kv", show: (n) => `${n}` },
      minute: { label: "Which 20 seconds are simulated", stops: [1, 2, 3, 4, 5], at: 1, show: (m) => `draw ${m}` },
    },
    runs(h) {
      const at = (seed, n) => ledger.result([`hardware=${h.gpu}`, `replicas=${n}`, `workload.rate=${h.rate}/s`, "workload.duration=20s", `seed=${seed}`]);
      return { here: at(h.minute - 1, h.replicas), usual: at(0, h.replicas), spare: at(0, Math.max(1, h.replicas - 1)) };
    },
    figures: {
      price: "cost / accelerator_hours", hour: "price * replicas", month: "hour * 730", worst: `min(${[1, 2, 3, 4, 5].map((m) => `at(minute, ${m}, slo_attainment.all)`).join(", ")})`,
      best: `max(${[1, 2, 3, 4, 5].map((m) => `at(minute, ${m}, slo_attainment.all)`).join(", ")})`, least: `min(${sizes.map((n) => `${n} + 1e9 * at(replicas, ${n}, not usual.slo_met)`).join(", ")})`,
      fewer: "replicas - 1", failed: "spare.slo_attainment.all",
    },
    steps: [
      { title: "A promise", set: { rate: 20, gpu: "h100-sxm", replicas: 1, minute: 1 },
        lead: `At {rate}, ${fleet} keeps the promise to {=slo_attainment.all %} of the requests.`,
        text: ["The promise is two limits: the first word within 500 ms, and each further one within 30 ms, on average over an answer. {b: 99 of 100} requests must keep both. Such a promise is called a service-level objective, SLO.",
          "{if slo_met: It is kept here: {=slo_attainment.ttft %} have their first word in time, and {=slo_attainment.tpot %} the others.; else: It is missed here: {=slo_attainment.ttft %} have their first word in time, and {=slo_attainment.tpot %} the others.}"],
        board: [[inside, "of the requests within both limits"]] },
      { title: "A cliff", set: { rate: 80, gpu: "h100-sxm", replicas: 1, minute: 1 },
        lead: `At {rate}, ${fleet} has {=median_ttft_ms ms} to a first word and {=median_tpot_ms ms} to each further one, in the middle.`,
        text: ["{if slo_attainment.all < 0.5: Of the promise, {=slo_attainment.all %} is left. The more people share a sweep, the longer the time between words, for all of them at once: so nearly all pass the limit at nearly the same load.; elif slo_met: The promise is kept. Drag the rate up, or the servers down, until it breaks: it does not bend for long.; else: The promise is nearly kept, for {=slo_attainment.all %}. This is near the edge: somewhat more load, and little of it is left.}",
          "Latencies grow slowly with the load while there is room, and then jump. So there is no fleet that is {b: nearly} large enough for long."],
        board: [["{=median_tpot_ms ms big}", "between words, in the middle"]] },
      { title: "Whole machines", set: { rate: 80, gpu: "h100-sxm", replicas: 2, minute: 1 },
        lead: `${fleet} at {rate}: {=slo_attainment.all %} within the limits, for {=hour $} an hour.`,
        text: ["Requests go to the servers in turn, so each sees {=rate / replicas /s}. {if least > 1000: Of these sizes, none keeps the promise with this GPU.; elif least = 1: One server of this kind suffices.; else: The least that keeps the promise is {=least n} of this kind.}",
          "Servers come whole. Who needs a little more than one buys two, and nearly half of what is paid for stands idle: small services pay most for a request."],
        board: [["{=replicas n} × {=price $} = {=hour $ big}", "an hour"], ["{=hour $} × 730 h = {=month $ big}", "a month"]] },
      { title: "{if at(gpu, 'l40s', least * price) > min(at(gpu, 'a100-80gb-sxm', least * price), at(gpu, 'h100-sxm', least * price)): A cheap hour is not a cheap fleet; else: Here the cheap hour is the cheap fleet}", set: { rate: 20, gpu: "l40s", replicas: 8, minute: 1 },
        lead: `An hour of the {gpu} costs {=price $}. {replicas} of them at {rate}: {=hour $} an hour, {=slo_attainment.all %} within the limits.`,
        text: ["{if at(gpu, 'l40s', least) > 1000: No number of L40S up to 8 keeps the promise at this rate.; else: Of L40S, it takes {=at(gpu, 'l40s', least) n}, which cost {=at(gpu, 'l40s', least * price) $} an hour.} {if at(gpu, 'a100-80gb-sxm', least) > 1000: No number of A100 up to 8 does.; else: Of A100, {=at(gpu, 'a100-80gb-sxm', least) n}, for {=at(gpu, 'a100-80gb-sxm', least * price) $}.} {if at(gpu, 'h100-sxm', least) > 1000: No number of H100 up to 8 does.; else: Of H100, {=at(gpu, 'h100-sxm', least) n}, for {=at(gpu, 'h100-sxm', least * price) $}.}",
          "A slow machine spends most of the 30 ms on one sweep of the weights. Only what is left of them is for more readers, so it carries few people, however cheap its hour."],
        board: [["{=hour $ big}", "an hour, for {=slo_attainment.all %} within the limits"]] },
      { title: "Other people", set: { rate: 20, gpu: "a100-80gb-sxm", replicas: 2, minute: 1 },
        lead: `In {minute}, ${fleet} keeps the promise to {=slo_attainment.all %} at {rate}.`,
        text: ["The draw decides who comes when, and with how long a question. In five draws of 20 seconds, the share was {if best - worst < 0.001: {=worst %} each time; else: {=worst %} to {=best %}}. {if worst >= 0.99: All five keep the promise.; elif best < 0.99: None of the five keeps it.; else: Some keep the promise, and some miss it: one run near the edge proves little.}",
          "So a plan is tried on several runs with other random numbers, and says how sure it is."],
        board: [["{=worst %} to {=best %}", "of the requests, in five draws"]] },
      { title: "One fails", set: { rate: 60, gpu: "h100-sxm", replicas: 2, minute: 1 },
        lead: `One of ${fleet} fails, at {rate}. {if fewer = 0: Then nobody is answered.; elif fewer = 1: One is left, and keeps the promise to {=failed %}.; else: {=fewer n} are left, and keep the promise to {=failed %}.}`,
        text: ["{if fewer = 0: A single server has no spare.; elif failed >= 0.99: The fleet has a spare: it keeps its promise with one server down.; else: The fleet was large enough only while all of it ran.}",
          "A spare costs as much as any other server. In a fleet of two it is half of the bill, in one of eight an eighth."],
        board: [["{=price $ big}", "an hour, for a spare of this kind"]] },
    ],
    ask: {
      at: { rate: 60, gpu: "a100-80gb-sxm", replicas: 4, minute: 1 },
      text: "Four A100 for {=hour $} an hour keep the promise to {=slo_attainment.all %} at 60 requests a second: too few. What is the cheapest repair?", best: { where: "slo_met", least: "hour" },
      shows: "{=slo_attainment.all %} within the limits, {=hour $} an hour",
      answers: [
        { say: "A fifth A100", set: { replicas: 5 }, reply: "{=slo_attainment.all %}: {if slo_met: it works; else: still too few}, for {=hour $} an hour. It tempts, since what is there can stay. But {=hour - before(hour) $} an hour more is paid for a machine that is mostly spare." },
        { say: "Eight L40S, since their hour is cheap", set: { gpu: "l40s", replicas: 8 }, reply: "{=slo_attainment.all %}, for {=hour $} an hour. {if slo_met: It works here.; else: An hour of an L40S is cheap, but one sweep of the weights leaves it little of the 30 ms: few can share it.}" },
        { say: "Two H100", set: { gpu: "h100-sxm", replicas: 2 }, right: true, reply: "{if slo_met and hour < before(hour): Right: {=slo_attainment.all %} for {=hour $} an hour, less than the four A100 cost that were too few. The dearest hour makes the cheapest fleet, since a fast sweep leaves time to share it.; else: {=slo_attainment.all %} for {=hour $} an hour.}" },
        { say: "Six A100, to be safe", set: { replicas: 6 }, reply: "{=slo_attainment.all %}: {if slo_met: it works; else: still too few}, for {=hour $} an hour. Being safe has its price here. Two H100 keep the promise to {=at(gpu, 'h100-sxm', at(replicas, 2, slo_attainment.all)) %} for {=at(gpu, 'h100-sxm', at(replicas, 2, hour)) / hour %} of it." },
      ],
    },
    check: {
      at: { rate: 40, gpu: "a100-80gb-sxm", replicas: 3, minute: 1 },
      text: `An hour of this GPU costs {=price $}, and a month has 730 hours. What does ${fleet} cost a month, in dollars?`,
      formula: "month", unit: "$", says: "dollars", within: 0.005, right: "Right: {=replicas n} × {=price $} × 730 h = {=month $}.",
      wrong: "Multiply servers, price and hours.",
      near: [["hour", "That is an hour; the question is for a month."], ["hour * 24", "That is a day; the question is for a month."], ["price * 730", "That is one server; the fleet has more."], ["hour * 720", "That is a month of 30 days. The mean month has 730 hours."]],
    },
    measured: {
      text: "The cliff, measured: vLLM 0.23.0 with Qwen3-14B on one H100, prompts of 986 tokens. At 2 requests a second a token took 12.3 ms, at 8 a second 17.4 ms. At 18 a second, of which it bore 17.2, it took 111 ms.",
      source: "inference-sim/residency-vllm, results/sweep_rate and w5_sweep, commit 2641b576", url: "https://github.com/inference-sim/residency-vllm",
    },
    paper: { title: "Li and others, AlpaServe: Statistical Multiplexing with Model Parallelism for Deep Learning Serving (2023)", url: "https://arxiv.org/abs/2302.11665" },
    command: (h) => `llmsim plan many-users --set model=llama-3.1-8b --set 'workload={rate: ${h.rate}/s, prompt: {distribution: lognormal, mean: 500, cv: 1, max: 8000}, output: {distribution: lognormal, mean: 150, cv: 1, max: 2000}}' --set 'slo={ttft: 500ms, tpot: 30ms}' --set 'menu={hardware: [${Object.keys(gpus).join(", ")}], tensor: [1]}' --set fleet.spare=0`,
  });
})();
