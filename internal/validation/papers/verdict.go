package papers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
)

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
