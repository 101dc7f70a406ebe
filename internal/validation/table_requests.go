package validation

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Requests of runs whose servers a table beside them describes: servers.csv has a row for each
// file, with the flags, the load, and how much of a prompt others share. A file's name states
// engine, GPU, model and perhaps the layout: requests_ENGINE_VERSION__GPU__MODEL__tp2__RUN.csv,
// with the number of GPUs before the GPU where it is tensor-parallel over all (8xh100). Requests
// without times that the table has are part of the load and are not compared. Answers that were
// not streamed have a time for the whole.
const descriptions = "servers.csv"

// describedBeside returns the row of the table of servers in the file's folder about the file; nil
// where the folder has no such table or row.
func describedBeside(folder fs.FS, file string) (*row, error) {
	f, err := folder.Open(path.Join(path.Dir(file), descriptions))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := readTable(file, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", descriptions, err)
	}
	i := slices.IndexFunc(t.rows, func(r row) bool { return r.text("file") == path.Base(file) })
	if i < 0 {
		return nil, nil
	}
	return &t.rows[i], nil
}

var numberedGPU = regexp.MustCompile(`^(\d+)x(.+)$`)

func readDescribedRequests(c *catalogs, t *table) []*trial {
	x, why := c.serverOf(t)
	switch {
	case t.server.err != nil:
		var unknown *unknownName
		if !errors.As(t.server.err, &unknown) {
			t.problem(1, "%s: %v", descriptions, t.server.err)
			return nil
		}
		t.skip("%v", t.server.err)
		return nil
	case why != "":
		t.skip("%s", why)
		return nil
	}
	shared := strings.HasPrefix(t.server.text("prefix_sharing"), "total")
	log := t.logged(shared)
	if len(log.times) == 0 {
		if len(t.problems) == 0 {
			t.skip("requests of which nobody recorded when they were sent")
		}
		return nil
	}
	if load := t.server.text("load"); strings.HasPrefix(load, "closed loop") ||
		strings.HasPrefix(load, "one request at a time") {
		x.loop(log, t.server.batch("max_in_flight"), shared)
	} else {
		x.sendAgain(log)
	}
	x.measured = log.measured()
	if strings.Contains(t.server.text("client"), "over the internet") {
		x.measured = slices.DeleteFunc(x.measured, func(m accuracy.Measurement) bool {
			return accuracy.QuantityFamily(m.Quantity) == "TTFT"
		})
		t.skip("TTFT of a client over the internet")
	}
	x.place = accuracy.Place{Group: x.group(), File: t.file, Line: 2,
		Name: fmt.Sprintf("%d requests", len(log.requests))}
	return []*trial{x}
}

// serverOf returns the server of a table, or why it is left out.
func (c *catalogs) serverOf(t *table) (x *trial, why string) {
	r, parts := t.server, nameParts(t.file)
	r.table.kind = t.kind
	tensor, gpu := 1, parts[1]
	if m := numberedGPU.FindStringSubmatch(gpu); m != nil {
		tensor, _ = strconv.Atoi(m[1])
		gpu = m[2]
	}
	for _, part := range parts[3:] {
		if l, ok := parseDegrees(part); ok && l.data == 1 {
			tensor = l.tensor
		}
	}
	format := r.required("weights")
	if strings.Contains(r.text("weights"), "MXFP4") && strings.HasPrefix(parts[2], "gpt-oss") {
		format = "mxfp4"
	}
	x = &trial{deployment: c.deploy(r, parts[2], gpu, format, tensor), least: 1}
	engine, _, _ := strings.Cut(strings.TrimPrefix(parts[0], "requests_"), "_")
	preset, err := parseEngine(engine)
	if err != nil {
		r.fail(err)
	}
	if r.err != nil {
		return x, ""
	}
	x.Engine.Preset = preset
	x.find()
	x.server = strings.Join(parts[:3], "__")
	group := x.group()
	x.machine = group.Machine(t.kind.Name)
	x.ownMemory()
	r.applyFlags(&x.deployment)
	if engine == "slora" {
		if strings.Contains(path.Base(t.file), "vtc") {
			return nil, "a scheduler that is fair between tenants and foresees the peak of memory"
		}
		// batch_max_tokens is the longest request's (slora/server).
		x.Batching.Policy, x.tokenBudget = "lightllm", 3072
	}
	return x, ""
}

// logged is the requests of a run, and what became of them.
type logged struct {
	requests []sim.Request
	// silent are the arrivals of requests of which no times are known.
	silent map[sim.Time]bool
	// times are times by quantity, in ms, and prompts and outputs the tokens of all requests.
	times           map[string][]float64
	prompts, output int
}

// logged reads the requests of a table. Prompts of one text, which tenant and length name, share
// all of their tokens if shared.
func (t *table) logged(shared bool) *logged {
	l := &logged{silent: map[sim.Time]bool{}, times: map[string][]float64{}}
	texts := map[string]uint64{}
	t.each(func(r *row) {
		at := r.optional("sent_s", r.optional("arrival_s", -1))
		if at < 0 {
			return // it is part of no load that could be repeated
		}
		q := sim.Request{Arrival: sim.Seconds(at), Prompt: r.count("prompt_tokens"),
			Output: max(1, r.whole("output_tokens", 0))}
		if text := r.text("tenant") + "," + r.text("prompt_tokens"); shared {
			if texts[text] == 0 {
				texts[text] = uint64(len(texts) + 1)
			}
			q.Content = []sim.Segment{{ID: texts[text], Tokens: q.Prompt}}
		}
		first, last := r.optional("first_token_s", at), r.optional("last_token_s", at)
		if r.err == nil && (first < at || last < first) {
			r.fail(fmt.Errorf("times go backwards: arrival %g s, first token %g s, last token %g s",
				at, first, last))
		}
		if r.err != nil {
			return
		}
		l.requests = append(l.requests, q)
		l.prompts, l.output = l.prompts+q.Prompt, l.output+q.Output
		switch whole := r.optional("e2e_s", last-at); {
		case r.text("first_token_s") != "" && last > at:
			l.add("TTFT", first-at)
			l.add("E2E", last-at)
			if q.Output > 1 {
				l.add("TPOT", (last-first)/float64(q.Output-1))
			}
		case whole > 0:
			l.add("E2E", whole)
		default:
			l.silent[q.Arrival] = true
		}
	})
	slices.SortStableFunc(l.requests, byArrival)
	return l
}

func (l *logged) add(name string, seconds float64) {
	l.times[name] = append(l.times[name], 1000*seconds)
}

// measured returns means and percentiles of the times. Fewer than 100 values have no 99th
// percentile but their largest, which is the first request's, before the server is warm.
func (l *logged) measured() (list []accuracy.Measurement) {
	all := map[string]float64{}
	for _, name := range []string{"TTFT", "TPOT", "E2E"} {
		addStatistics(all, name, l.times[name])
		for _, statistic := range []string{" mean", " p50", " p90", " p99"} {
			v := all[name+statistic]
			if v > 0 && (statistic != " p99" || len(l.times[name]) >= 100) {
				list = append(list, accuracy.Measurement{Quantity: name + statistic, Unit: "ms",
					Value: v})
			}
		}
	}
	return list
}

// sendAgain has the trial send the requests when they were sent. Of requests whose times are known,
// these are compared.
func (t *trial) sendAgain(l *logged) {
	t.sent = &sending{requests: l.requests,
		counts: func(arrival sim.Time) bool { return !l.silent[arrival] }}
}

// loop has users send requests of the run's mean lengths, each the next when the last one is
// answered. Where they share a text, a request before the run leaves it in the cache.
func (t *trial) loop(l *logged, users int, shared bool) {
	n := len(l.requests)
	prompt, output := max(1, l.prompts/n), max(1, l.output/n)
	t.Workload = clients(users, int64(n), prompt, output, 1)
	if shared && prompt > 1 {
		t.Workload.Prompt = fixed(1)
		t.Workload.Prefix = &scenarios.Prefix{Groups: 1, Tokens: fixed(prompt - 1)}
		t.Workload.Requests++
		t.Caches = &scenarios.Caches{Start: "warm", Requests: 1}
	}
	t.rehearsable = true
}

// readRequests reads a run that is sent again request by request, with the times at which the
// engine (not the client) saw them. The file's name may also state the layout and the number
// format: GPU__MODEL__tp2__fp8.
func readRequests(c *catalogs, t *table) []*trial {
	spread := degrees{tensor: 1, data: 1}
	for _, part := range nameParts(t.file)[3:] {
		if l, ok := parseDegrees(part); ok {
			spread = l
		} else if _, err := parseDType(part); err == nil {
			t.stated["dtype"] = part
		}
	}
	named := t.whole()
	v := c.trial(named)
	if named.err != nil {
		t.skip("%v", named.err)
		return nil
	}
	v.engineTimes, v.Parallelism.Tensor = true, spread.tensor
	spread.apply(&v.deployment)
	v.maxSequences, v.tokenBudget = 128, 2048
	if t.has("sent_s") { // the client's clock, and the engine's defaults
		v.engineTimes, v.maxSequences, v.tokenBudget = false, 256, 8192
	}
	v.maxSequences *= spread.data // limits are for each of the ranks
	v.tokenBudget *= spread.data
	v.place = accuracy.Place{Group: v.group(), File: t.file, Line: 2}
	log := t.logged(false)
	if len(log.requests) == 0 {
		return nil
	}
	if t.has("sent_s") && inFlight(log.requests, log.times["E2E"]) >= clientLimit {
		t.skip("requests of a closed loop: the client had as many in flight as it may")
		return nil
	}
	v.place.Name = fmt.Sprintf("%d requests", len(log.requests))
	end := log.requests[len(log.requests)-1].Arrival + 1
	v.sent = &sending{requests: wholeRun(log.requests), counts: func(arrival sim.Time) bool {
		return arrival < end && !log.silent[arrival]
	}}
	v.measured = log.measured()
	return []*trial{v}
}

// inFlight returns the largest number of requests in flight, given in order of arrival with their
// latencies in ms.
func inFlight(requests []sim.Request, latencies []float64) int {
	most := 0
	var ends []sim.Time
	for i := range requests {
		now := requests[i].Arrival
		ends = slices.DeleteFunc(ends, func(end sim.Time) bool { return end <= now })
		ends = append(ends, now+sim.Seconds(latencies[i]/1000))
		most = max(most, len(ends))
	}
	return most
}

// runLength is the number of requests of each of these runs. Of some the table has the first ones
// only.
const runLength = 300

// wholeRun adds the requests that a table leaves out: they are taken to arrive like those it has,
// one after another. They load the server and are not compared.
func wholeRun(first []sim.Request) []sim.Request {
	n, last := len(first), first[len(first)-1].Arrival
	gap := last / sim.Time(max(1, n-1))
	all := slices.Clone(first)
	for i := n; i < runLength; i++ {
		again := first[i%n]
		again.Arrival += (last + gap) * sim.Time(i/n)
		all = append(all, again)
	}
	return all
}
