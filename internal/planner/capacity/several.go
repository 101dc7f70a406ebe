package capacity

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/planner/shard"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/scenarios"
)

// Answers are the outcome of a plan: the fleet of each model.
type Answers struct {
	Name   string    `json:"name,omitempty"`
	Models []*Answer `json:"models"`
	// Accelerators and Hourly are those of all chosen fleets together.
	Accelerators int     `json:"accelerators"`
	Hourly       float64 `json:"dollars_per_hour"`
}

// Failed counts simulations that failed.
func (a *Answers) Failed() int {
	n := 0
	for _, answer := range a.Models {
		n += answer.Failed
	}
	return n
}

// Met reports whether there is a fleet for every model.
func (a *Answers) Met() bool {
	return !slices.ContainsFunc(a.Models, func(answer *Answer) bool { return answer.Chosen == nil })
}

// Solve answers the plan. An SLO that no option meets is an answer too: see Answer.Nearest. Models
// choose in turn: one that comes later has what is left of the accelerators of which there are not
// more than a number.
func (f *File) Solve(ctx context.Context, o Options) (*Answers, error) {
	q, err := queue.Open(ctx, o.Queue, queue.Handlers{Kind: Simulate})
	if err != nil {
		return nil, err
	}
	defer q.Close()
	all := &Answers{Name: f.Plan.Name}
	hardware := f.Plan.Menu.Hardware
	for _, part := range f.parts() {
		if part.Plan.Menu.Hardware = hardware; len(hardware) == 0 {
			return nil, scenarios.BadInput(
				fmt.Errorf("%s: no accelerators are left for %s: the models before it take all",
					f.name, part.Plan.Name))
		}
		a, err := part.solve(ctx, q, o)
		if err != nil {
			return nil, err
		}
		if d := a.Chosen; d != nil {
			all.Accelerators += d.Accelerators
			all.Hourly += d.Hourly
			hardware = remaining(hardware, d)
		}
		all.Models = append(all.Models, a)
	}
	if o.Shard.Whole() {
		return all, nil
	}
	if n := all.Failed(); n > 0 {
		return nil, shard.Failed(n)
	}
	return nil, nil
}

// parts returns a plan for each model.
func (f *File) parts() []*File {
	var list []*File
	for _, m := range f.Plan.Models {
		p := f.Plan
		p.Models, p.Name = nil, cmp.Or(m.Name, m.Model)
		p.Model, p.MaxModelLen, p.Workload, p.SLO = m.Model, m.MaxModelLen, m.Workload,
			m.SLO.Complete()
		list = append(list, &File{Plan: p, name: f.name})
	}
	if list == nil {
		return []*File{f}
	}
	return list
}

// remaining returns what is left of offers when a fleet has taken its accelerators.
func remaining(offers []Offer, d *Deployment) []Offer {
	var left []Offer
	for _, o := range offers {
		took := 0
		for _, server := range d.option.servers() {
			if *server.offer == o {
				took = d.Replicas * d.option.accelerators(server.offer)
			}
		}
		if o.Count > 0 && took > 0 {
			if o.Count -= took; o.Count <= 0 {
				continue
			}
		}
		left = append(left, o)
	}
	return left
}

// WriteText prints the answers for people, in 80 columns.
func (a *Answers) WriteText(out io.Writer) error {
	for i, answer := range a.Models {
		if i > 0 {
			if _, err := fmt.Fprintln(out); err != nil {
				return err
			}
		}
		if err := answer.WriteText(out); err != nil {
			return err
		}
	}
	if len(a.Models) == 1 {
		return nil
	}
	p := report.NewPrinter(out)
	p.Gap()
	p.Heading(cmp.Or(a.Name, "All models"))
	var rows [][]string
	for _, answer := range a.Models {
		row := []string{answer.Name, "none meets the SLO", "–", "–", "–"}
		if d := answer.Chosen; d != nil {
			row = []string{answer.Name, d.Label, fmt.Sprint(d.Replicas), fmt.Sprint(d.Accelerators),
				fmt.Sprintf("%.2f", d.Hourly)}
		}
		rows = append(rows, row)
	}
	rows = append(rows, []string{"together", "", "", fmt.Sprint(a.Accelerators),
		fmt.Sprintf("%.2f", a.Hourly)})
	p.Table([]string{"model", "replica", "replicas", "GPUs", "$/h"}, rows, 0, 1)
	return p.Err()
}
