// Package papers holds llmsim against what papers claim. Claims are data, in claims/*.yaml: a
// published figure, the scenarios that show it, and an expression over their results.
package papers

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/expr-lang/expr"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

//go:embed claims/*.yaml
var shipped embed.FS

// Shipped returns the claims that come with the program, as Read takes them.
func Shipped() fs.FS { return shipped }

// Paper is a publication, runs that repeat its experiments, and what it claims of them.
type Paper struct {
	// Title names authors, title and venue.
	Title  string  `json:"paper" required:"true"`
	Runs   []Run   `json:"runs" required:"true"`
	Claims []Claim `json:"claims" required:"true"`
}

// Run is a scenario with settings, or the capacity of one.
type Run struct {
	// Name is what expressions call its result.
	Name     string    `json:"name" required:"true"`
	Scenario string    `json:"scenario" required:"true"`
	Set      []string  `json:"set,omitempty"`
	Capacity *Capacity `json:"capacity,omitempty"`
	// Draws is how often the scenario is run, with seeds from 0 on, where a paper reports few
	// requests; each figure is the median. 0 means once.
	Draws int `json:"draws,omitempty" above:"0"`
}

// Capacity asks for the highest rate of requests that a scenario stands.
type Capacity struct {
	// From is a rate that it stands, To one that it does not.
	From scenarios.PerSecond `json:"from" required:"true" above:"0"`
	To   scenarios.PerSecond `json:"to" required:"true" above:"0"`
	// While is the condition on the result.
	While string `json:"while" required:"true"`
}

// Claim is a published figure, and how close ours has to be: within a number of percent or points
// of it, or between limits.
type Claim struct {
	Name string `json:"name" required:"true"`
	// Where is the section, figure or table, Says the claim in words.
	Where string `json:"where" required:"true"`
	Says  string `json:"says" required:"true"`
	// Figure computes ours from the results of runs; where it is a condition, the claim is that it
	// holds.
	Figure string `json:"figure" required:"true"`
	Unit   string `json:"unit,omitempty"`

	Published float64   `json:"published,omitempty"`
	Percent   float64   `json:"percent,omitempty" above:"0"`
	Points    float64   `json:"points,omitempty" above:"0"`
	Between   []float64 `json:"between,omitempty"`
	AtLeast   float64   `json:"at-least,omitempty" above:"0"`
}

// Read returns the papers of all *.yaml files in the tree, in order of their titles.
func Read(tree fs.FS) ([]Paper, error) {
	var papers []Paper
	var names []string
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		doc, err := strict.Parse(path, data)
		if err != nil {
			return err
		}
		var p Paper
		if err := doc.Decode(&p); err != nil {
			return err
		}
		for i := range p.Claims {
			c := &p.Claims[i]
			if problem := c.check(); problem != "" {
				return doc.Problem(fmt.Sprintf("claims.%d", i), "%s", problem)
			}
			if slices.Contains(names, c.Name) {
				return doc.Problem(fmt.Sprintf("claims.%d.name", i), "there is a claim %q already",
					c.Name)
			}
			names = append(names, c.Name)
		}
		papers = append(papers, p)
		return nil
	})
	slices.SortFunc(papers, func(a, b Paper) int { return strings.Compare(a.Title, b.Title) })
	return papers, err
}

// check returns what is wrong with a claim, or "".
func (c *Claim) check() string {
	ways := 0
	for _, given := range []bool{c.Percent > 0, c.Points > 0, c.Between != nil, c.AtLeast > 0} {
		if given {
			ways++
		}
	}
	switch {
	case ways > 1:
		return "percent, points, between and at-least exclude each other"
	case (c.Percent > 0 || c.Points > 0) != (c.Published != 0) && c.AtLeast == 0:
		return "published goes with percent, points or at-least, which say how close ours must be"
	case c.Between != nil && (len(c.Between) != 2 || c.Between[0] > c.Between[1]):
		return fmt.Sprintf("between is %v, want two numbers, the smaller first", c.Between)
	}
	return ""
}

// Report is every claim with our figure and the verdict.
type Report struct {
	Papers []PaperReport `json:"papers"`
	Met    int           `json:"met"`
	Claims int           `json:"claims"`
}

// PaperReport is the claims of one paper.
type PaperReport struct {
	Title    string    `json:"paper"`
	Verdicts []Verdict `json:"claims"`
	// Commands repeat the runs, by the names that figures use.
	Commands map[string]string `json:"commands"`
}

// Verdict is a claim beside our figure.
type Verdict struct {
	Claim
	// Ours is our figure, or whether a condition holds.
	Ours any  `json:"ours"`
	Met  bool `json:"met"`
}

// Check does the runs, on all cores, and compares.
func Check(ctx context.Context, papers []Paper) (*Report, error) {
	results, err := doAll(ctx, papers)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	for i := range papers {
		p := &papers[i]
		pr := PaperReport{Title: p.Title, Commands: map[string]string{}}
		for j := range p.Runs {
			f, _ := results[i][p.Runs[j].Name].(map[string]any)
			pr.Commands[p.Runs[j].Name] = p.Runs[j].command(f)
		}
		for _, c := range p.Claims {
			v, err := c.judge(results[i])
			if err != nil {
				return nil, fmt.Errorf("claim %s: %w", c.Name, err)
			}
			r.Claims++
			if v.Met {
				r.Met++
			}
			pr.Verdicts = append(pr.Verdicts, v)
		}
		r.Papers = append(r.Papers, pr)
	}
	return r, nil
}

// doAll returns the figures of all runs by name, for each paper.
func doAll(ctx context.Context, papers []Paper) ([]map[string]any, error) {
	results := make([]map[string]any, len(papers))
	var errs []error
	var lock sync.Mutex
	var group sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range papers {
		results[i] = map[string]any{}
		for j := range papers[i].Runs {
			run := &papers[i].Runs[j]
			free <- struct{}{}
			group.Go(func() {
				defer func() { <-free }()
				f, err := run.do(ctx)
				lock.Lock()
				defer lock.Unlock()
				if err != nil {
					errs = append(errs, fmt.Errorf("run %s: %w", run.Name, err))
				}
				results[i][run.Name] = map[string]any(f)
			})
		}
	}
	group.Wait()
	return results, errors.Join(errs...)
}

// judge computes our figure and compares it with the claim.
func (c *Claim) judge(results map[string]any) (Verdict, error) {
	v := Verdict{Claim: *c}
	var err error
	if v.Ours, err = evaluate(c.Figure, results); err != nil {
		return v, err
	}
	switch ours := v.Ours.(type) {
	case bool:
		v.Met = ours
	case int:
		v.Ours = float64(ours)
		v.Met = c.holds(float64(ours))
	case float64:
		v.Met = c.holds(ours)
	default:
		return v, fmt.Errorf("%q is neither a number nor a condition", c.Figure)
	}
	return v, nil
}

// holds reports whether our figure is as close as it has to be.
func (c *Claim) holds(ours float64) bool {
	switch {
	case c.Percent > 0:
		return math.Abs(ours/c.Published-1) <= c.Percent/100
	case c.Points > 0:
		return math.Abs(ours-c.Published) <= c.Points
	case c.Between != nil:
		return ours >= c.Between[0] && ours <= c.Between[1]
	}
	return ours >= c.AtLeast
}

// accuracy is the ratio of rates at which the search ends.
const accuracy = 1.02

// search bisects, on a logarithmic scale, for the highest rate at which the condition holds, and
// returns the figures of the run at that rate; "rate" is one more.
func (c *Capacity) search(simulate func(rate scenarios.PerSecond) (figures, error)) (figures,
	error) {
	try := func(rate float64) (figures, bool, error) {
		f, err := simulate(scenarios.PerSecond(rate))
		if err != nil {
			return nil, false, err
		}
		f["rate"] = rate
		holds, err := evaluate(c.While, f)
		if err != nil {
			return nil, false, err
		}
		yes, isCondition := holds.(bool)
		if !isCondition {
			return nil, false, fmt.Errorf("while: %q is no condition", c.While)
		}
		return f, yes, nil
	}
	low, high := float64(c.From), float64(c.To)
	best, holds, err := try(low)
	if err == nil && !holds {
		return nil, fmt.Errorf("%s does not hold at the lowest rate, %v/s", c.While, low)
	}
	if _, holds, err := try(high); err != nil || holds {
		return nil, fmt.Errorf("%s holds at the highest rate, %v/s (%v)", c.While, high, err)
	}
	for err == nil && high/low > accuracy {
		middle := math.Sqrt(low * high)
		var f figures
		if f, holds, err = try(middle); holds {
			low, best = middle, f
		} else {
			high = middle
		}
	}
	return best, err
}

// evaluate computes an expression over figures; a name that there is not is an error.
func evaluate(expression string, env map[string]any) (any, error) {
	program, err := expr.Compile(expression, expr.Env(env))
	if err != nil {
		return nil, fmt.Errorf("%q: %w", expression, err)
	}
	return expr.Run(program, env)
}

// figures is what expressions can use of a run: the keys of its JSON, and the keys of latencies
// below.
type figures map[string]any

// do runs the scenario, once or several times, or searches its capacity.
func (r *Run) do(ctx context.Context) (figures, error) {
	if r.Draws > 0 {
		return r.draw(ctx)
	}
	if r.Capacity != nil {
		return r.Capacity.search(func(rate scenarios.PerSecond) (figures, error) {
			return simulate(ctx, r.Scenario,
				append(slices.Clip(r.Set), "workload.rate="+rate.String()))
		})
	}
	return simulate(ctx, r.Scenario, r.Set)
}

// draw returns the medians of the figures over several seeds.
func (r *Run) draw(ctx context.Context) (figures, error) {
	medians, all := figures{}, map[string][]float64{}
	for seed := range r.Draws {
		f, err := simulate(ctx, r.Scenario,
			append(slices.Clip(r.Set), fmt.Sprintf("seed=%d", seed)))
		if err != nil {
			return nil, err
		}
		for key, value := range f {
			if x, isNumber := value.(float64); isNumber {
				all[key] = append(all[key], x)
			}
		}
	}
	for key, list := range all {
		medians[key] = median(list)
	}
	return medians, nil
}

func simulate(ctx context.Context, scenario string, set []string) (figures, error) {
	file, err := scenarios.Load(scenario, set...)
	if err != nil {
		return nil, err
	}
	var l latencies
	result, err := file.Run(ctx, policies.Default(), &l)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	var f figures
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	for _, m := range scenarios.Metrics() { // a limit is kept by what no request has
		if _, found := f[m.Name]; !found && m.Path == "" {
			f[m.Name] = m.Of(result)
		}
	}
	l.addTo(f)
	return f, nil
}

// latencies observes what papers report of each request beside the usual.
type latencies struct {
	sim.NopObserver
	// E2E latency by output token, in ms (Yu et al., Orca, OSDI 2022, section 6.2)
	normalized []float64
	queued     []float64 // from the arrival to the first step, in ms
}

// Finished implements sim.Observer.
func (l *latencies) Finished(s *sim.Sequence) {
	l.normalized = append(l.normalized, s.E2E().Milliseconds()/float64(s.Output))
	l.queued = append(l.queued, (s.Scheduled - s.Arrival).Milliseconds())
}

func (l *latencies) addTo(f figures) {
	f["mean_normalized_ms"], f["median_normalized_ms"] = mean(l.normalized), median(l.normalized)
	f["median_queue_ms"] = median(l.queued)
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(max(1, len(list)))
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

// command is the line that repeats a run with these figures: that at capacity, or the first of
// several.
func (r *Run) command(f map[string]any) string {
	line := "llmsim scenario " + r.Scenario
	for _, set := range r.Set {
		line += fmt.Sprintf(" --set %q", set)
	}
	if rate, found := f["rate"]; found {
		line += fmt.Sprintf(" --set workload.rate=%.4g/s", rate)
	}
	if r.Draws > 0 {
		line += " --set seed=0"
	}
	return line
}
