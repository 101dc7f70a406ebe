package validation

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios"
	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// A trial is what was measured together and is simulated together: a server under a load, of a row
// or of the rows of one run.
type trial struct {
	deployment
	part
	// parts are the rows of a run or of a kernel, where a trial has several; part is then the
	// first, without figures.
	parts []part
	// count is the number of clients, of requests or of sequences; prompt and output are lengths in
	// tokens; drawn lengths are at least the share least of them.
	count, prompt, output int
	least                 float64
	// sent are the requests, where they are not the scenario's. figures sums up what became of
	// requests; where it is nil, they are means and percentiles of latencies, and the output rate.
	sent    *sending
	figures func(*outcome) map[string]float64
	// steps predicts figures of a part from single steps; nil where a load is simulated.
	steps func(*accuracy.Physics) (func(*part) map[string]float64, error)
	// predict predicts all parts, if not nil: each part then has a load of its own.
	predict func(context.Context, *accuracy.Physics) ([]accuracy.Comparison, error)
	// shown says of a row that is predicted from single steps of its server, or from its memory,
	// what the figures are and which command shows them; empty where the row is no server's.
	shown string
	// full returns the mean time of a step in seconds and what it asks of an accelerator, where
	// the batch is always full, of count sequences; nil elsewhere.
	full func(*accuracy.Physics) (mean float64, usage hardware.Usage, err error)
	// waved reports whether fewer requests are simulated than the clients send.
	waved bool
	// made is the trial as a scenario, or failed why it cannot be, once it was asked for.
	once   sync.Once
	made   *served
	failed error
	// rehearsable reports whether slopes of the figures follow from a sample of steps.
	rehearsable bool
}

// part is a row of a trial, with what was measured of it.
type part struct {
	place    accuracy.Place
	measured []accuracy.Measurement
	// counts reports by its arrival whether a request is the part's, if the trial has several.
	counts func(arrival sim.Time) bool
	// step is what was measured, where that is one, and load the part's own load, where it has one.
	step *sim.Step
	load *scenarios.Workload
}

func (p part) compared() bool { return len(p.measured) > 0 }

// describer sets the load and the name of a trial from its row, and what rules.csv cannot say of
// its server. It returns why the row is left out, or "".
type describer func(c *catalogs, r *row, t *trial) (why string)

// trials returns what reads a table of which each row is a trial.
func trials(describe describer) func(c *catalogs, t *table) []*trial {
	return func(c *catalogs, t *table) []*trial {
		return t.trials(func(r *row) (*trial, string) { return c.described(r, describe) })
	}
}

// described returns the trial of a row, or why it is left out.
func (c *catalogs) described(r *row, describe describer) (x *trial, why string) {
	if why = r.ruled("refuse"); why != "" {
		return nil, why
	}
	if x = c.trial(r); r.err == nil {
		why = describe(c, r, x)
		x.Name = cmp.Or(r.fill(r.table.kind.Case), x.Name)
	}
	return x, why
}

// trials returns the trials of the kind's rows. Of a row that is left out read returns why, or nil.
func (t *table) trials(read func(*row) (x *trial, why string)) (list []*trial) {
	t.each(func(r *row) {
		if !r.holds(t.kind.Rows) {
			return
		}
		x, why := read(r)
		switch {
		case r.err != nil:
		case why != "":
			t.leave(r, why)
		case x != nil:
			x.place = accuracy.Place{Group: x.group(), File: t.file, Line: r.line, Name: x.Name}
			list = append(list, x)
		}
	})
	return list
}

// trial returns the server of a row, with what was measured of it.
func (c *catalogs) trial(r *row) *trial {
	k, tensor := r.table.kind, 1
	if k.Tensor != "" {
		tensor = r.count(k.Tensor)
	}
	x := &trial{part: part{measured: r.figures()}, least: 1}
	x.deployment = c.deploy(r, r.value(k.Model), r.value(k.GPU),
		cmp.Or(r.ruled("weights"), r.value(k.DType)), tensor)
	if k.Engine != "" {
		x.Engine.Preset = r.engine(k.Engine)
	}
	size := func(name, columns string, read func(string) int) (n int) {
		if columns != "" {
			n = read(columns)
			r.learn(name, fmt.Sprint(n))
		}
		return n
	}
	x.count = size("users", k.Count, r.batch)
	x.prompt, x.output = size("prompt", k.Prompt, r.count), size("output", k.Output, r.count)
	r.set(k.Name, &x.deployment)
	if k.Engine != "" {
		x.find()
	}
	for _, family := range []string{"TTFT", "prefill rate"} {
		if why := r.ruled("drop " + family); why != "" && r.err == nil {
			x.drop(r, why, family)
		}
	}
	return x
}

func (t *trial) rows() (list []accuracy.Place) {
	for _, x := range t.all() {
		list = append(list, x.place)
	}
	return list
}

// all returns the parts of the trial.
func (t *trial) all() []part {
	if len(t.parts) == 0 {
		return []part{t.part}
	}
	return t.parts
}

// compare predicts what was measured.
func (t *trial) compare(ctx context.Context, p *accuracy.Physics) ([]accuracy.Comparison, error) {
	switch {
	case t.steps != nil:
		return t.compareSteps(p)
	case t.predict != nil:
		return t.predict(ctx, p)
	}
	made, err := t.served()
	if err != nil {
		return nil, err
	}
	all, err := made.serve(ctx, p, t.sent.list())
	if err != nil {
		return nil, err
	}
	figures := (*outcome).latenciesAndRate
	if t.figures != nil {
		figures = t.figures
	}
	if len(t.parts) == 0 {
		of := all
		if t.sent != nil {
			of = all.where(t.sent.counts)
		}
		list := all.keyed(t.place.Compare(t.measured, figures(of)))
		if t.rehearsable {
			list = rehearsable(list, all.rehearsal)
		}
		return list, nil
	}
	var list []accuracy.Comparison
	for _, x := range t.parts {
		of := all.where(x.counts)
		list = append(list, of.keyed(x.place.Compare(x.measured, figures(of)))...)
	}
	return list, nil
}

// compareSteps compares what is predicted from single steps.
func (t *trial) compareSteps(p *accuracy.Physics) (list []accuracy.Comparison, err error) {
	predict, err := t.steps(p)
	if err != nil {
		return nil, err
	}
	for _, x := range t.all() {
		if x.compared() {
			list = append(list, x.place.Compare(x.measured, predict(&x))...)
		}
	}
	for i := range list {
		list[i].Load = evidence.Load{Users: float64(t.count), Prompt: float64(t.prompt),
			Output: float64(t.output)}
	}
	return list, nil
}

// served returns the row as a scenario that is ready to be predicted. It is read once.
func (t *trial) served() (*served, error) {
	t.once.Do(func() { t.made, t.failed = t.deployment.made() })
	return t.made, t.failed
}

// key returns what is known of the server's accuracy by: the zero value for kernels measured
// without an engine, for a server that cannot be, and for servers apart.
func (t *trial) key() (key servers.Key) {
	if t.Engine.Preset == "" || t.apart != nil {
		return key
	}
	if s, err := t.served(); err == nil {
		if server, err := s.server(&accuracy.Physics{}); err == nil {
			key, _ = server.Key()
		}
	}
	return key
}

// clock returns what predicts the steps of the row's server.
func (t *trial) clock(p *accuracy.Physics) (*steptime.Clock, error) {
	made, err := t.served()
	if err != nil {
		return nil, err
	}
	return made.clock(p)
}

// drop removes measured figures of a family that say nothing, and counts why.
func (t *trial) drop(r *row, why, family string) {
	before := len(t.measured)
	t.measured = slices.DeleteFunc(t.measured, func(m accuracy.Measurement) bool {
		return accuracy.QuantityFamily(m.Quantity) == family
	})
	if len(t.measured) < before {
		r.table.skip("%s", why)
	}
}

// closed makes the load of the trial its number of clients; each sends its next request when the
// last one is answered.
func (t *trial) closed() {
	t.Workload = clients(t.count, waves(t.count), t.prompt, t.output, t.least)
	t.figures = func(o *outcome) map[string]float64 { return o.figuresOfWaves(t.count) }
	t.rehearsable = true
	t.waved = waves(t.count) < int64(requestsPerClient*t.count)
	t.Name = fmt.Sprintf("concurrency %d, %d in, %d out", t.count, t.prompt, t.output)
}

// atOnce makes the load of the trial its number of requests, which are queued at once.
func (t *trial) atOnce() {
	t.Workload = sent(int64(t.count), fixed(t.prompt), fixed(t.output))
	t.Workload.Arrivals.Process = "at-once"
	t.rehearsable = true
	t.Name = fmt.Sprintf("%d requests, %d in, %d out", t.count, t.prompt, t.output)
}

// inSteps predicts quantities as the times of single steps, in ms.
func (t *trial) inSteps(of map[string]*sim.Step) {
	t.clocked(func(clock *steptime.Clock) map[string]float64 {
		times := map[string]float64{}
		for quantity, step := range of {
			times[quantity] = clock.Duration(step).Milliseconds()
		}
		return times
	})
	var list []string
	for quantity, step := range of {
		list = append(list, quantity+", "+showStep(step))
	}
	slices.Sort(list)
	t.shown = "The row's figures are times of single steps of this server: " +
		strings.Join(list, "; ")
}

// clocked predicts figures by what predicts the steps of the row's server.
func (t *trial) clocked(figures func(*steptime.Clock) map[string]float64) {
	t.shown = "The row's figures are sums of single steps of this server at the row's lengths, " +
		"of which llmsim roofline FILE shows any"
	t.steps = func(p *accuracy.Physics) (func(*part) map[string]float64, error) {
		clock, err := t.clock(p)
		return func(*part) map[string]float64 { return figures(clock) }, err
	}
}

// inKernels predicts quantities from the times of the kernels of a step; attends reports whether
// attention counts in an iteration.
func (t *trial) inKernels(kind allReduceKind, step *sim.Step, attends bool) {
	t.steps = func(p *accuracy.Physics) (func(*part) map[string]float64, error) {
		k, err := t.kernels(p, kind)
		return func(*part) map[string]float64 {
			return k.times(step).figures(t.model, attends)
		}, err
	}
}

// measuredWithDrafts names the measured and the predicted figures of a trial so.
func (t *trial) measuredWithDrafts() {
	for i := range t.measured {
		t.measured[i].Quantity += accuracy.WithDrafts
	}
	t.figures = func(o *outcome) map[string]float64 {
		figures := map[string]float64{}
		for name, value := range o.latenciesAndRate() {
			figures[name+accuracy.WithDrafts] = value
		}
		return figures
	}
	t.rehearsable, t.waved = false, false
}

// emit returns the server of the row of a line and its requests.
func (t *trial) emit(line int) emission {
	own, all := t.deployment, t.all()
	of := &all[max(0, slices.IndexFunc(all, func(x part) bool {
		return x.place.Line == line && (x.step != nil || x.counts != nil || x.load != nil)
	}))]
	switch {
	case of.load != nil:
		own.Name, own.Workload = of.place.Name, *of.load
		return emission{server: &own}
	case of.counts != nil:
		own.Name = of.place.Name
		return emission{server: &own, sent: &sending{requests: t.sent.list(), counts: of.counts}}
	case t.waved:
		return emission{server: t.allWaves()}
	case t.steps == nil:
		return emission{server: &own, sent: t.sent}
	case of.step != nil && own.Engine.Preset != "":
		return own.ofStep(of.step)
	case t.shown == "":
		return emission{}
	}
	own.Workload = together(t.count, t.prompt, max(2, t.output))
	if t.full != nil {
		own.Workload = clients(t.count, waves(t.count), t.prompt, t.output, equalLength)
	}
	return emission{server: &own, figures: t.shown}
}

// requestsPerClient is how many requests each client sends, the first ones all at once: so does
// InferenceMAX, and how TTFT grows with the number of clients says the same of the other rows.
const requestsPerClient = 10

// fewWaves is how many requests a client sends in simulations of manyClients and more: what follows
// is like what was. They bound the time that a table takes.
const (
	fewWaves    = 4
	manyClients = 64
	// Beyond manyRequests it is fewer still.
	manyRequests = 4096
	leastWaves   = 2
)

// waves returns the number of requests that are simulated for the given number of clients.
func waves(clients int) int64 {
	if clients >= manyClients {
		return int64(max(leastWaves*clients, min(fewWaves*clients, manyRequests)))
	}
	return int64(requestsPerClient * clients)
}

// figuresOfWaves returns the figures of a run of requestsPerClient requests a client; waves of them
// were simulated: in means the first requests, which come all at once, count for one, and the
// others for all that follow. Medians are taken over what follows.
func (o *outcome) figuresOfWaves(clients int) map[string]float64 {
	all := o.latenciesAndRate()
	if waves(clients) == int64(requestsPerClient*clients) {
		return all
	}
	first := o.where(arrivedIn(0, 1)).figures()
	later := o.where(arrivedIn(1, sim.Never)).figures()
	for _, latency := range []string{"TTFT", "TPOT", "E2E"} {
		mean := latency + " mean"
		all[mean] = (first[mean] + (requestsPerClient-1)*later[mean]) / requestsPerClient
		all[latency+" p50"] = later[latency+" p50"]
	}
	return all
}

// allWaves returns the server of a row with all requests of its clients.
func (t *trial) allWaves() *deployment {
	own := t.deployment
	own.Workload.Requests = int64(requestsPerClient * t.count)
	return &own
}

// showWaves says of a row of which some waves are simulated what its figures are by these, and what
// they are where all requests are sent, as in the scenario that the row prints.
func (t *trial) showWaves(ctx context.Context) (string, error) {
	few, err := t.compare(ctx, &accuracy.Physics{})
	if err != nil {
		return "", err
	}
	made, err := t.allWaves().made()
	if err != nil {
		return "", err
	}
	all, err := made.serve(ctx, &accuracy.Physics{}, nil)
	if err != nil {
		return "", err
	}
	var list []string
	figures := all.latenciesAndRate()
	for i := range few {
		c := &few[i]
		if here := figures[c.Quantity]; here > 0 && c.Predicted > 0 {
			off := math.Round(1000*(here/c.Predicted-1))/10 + 0 // 0 is not written as −0
			list = append(list, fmt.Sprintf("%s is %s %s so, and %s here (%+.1f %%)", c.Quantity,
				units.Significant(c.Predicted, 5), c.Unit, units.Significant(here, 5), off))
		}
	}
	return fmt.Sprintf("validate simulates %d of the %d requests of this scenario, and in means\n"+
		"# counts the first of each user as one of %d:\n# %s.", t.Workload.Requests,
		made.Workload.Requests, requestsPerClient, strings.Join(list, ";\n# ")), nil
}

// The shortest lengths as shares of the nominal ones. InferenceMAX draws lengths between 80 and 100
// %. Elsewhere they are nominally all equal, but with lengths exactly equal clients would march in
// step for ever, and TTFT would be two to four times what was measured; some percent, as random
// text has once it is tokenised, lets them drift apart.
const (
	drawnLength = 0.8
	equalLength = 0.95
)
