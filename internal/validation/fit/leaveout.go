package fit

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models/steptime"
)

// leaveOut predicts the rows of each model with constants fitted to all other models' rows, and the
// same for accelerators, which then take the constants of their nearest relative. Rows of an engine
// cannot be left out if nothing else of it was measured. Either report is nil where there is
// nothing to leave out.
func (p *problem) leaveOut(ctx context.Context, data *validation.Data,
	solution *linearised) (models, accelerators *accuracy.Report, err error) {
	models, err = p.fold(ctx, data, solution, p.names(func(r *row) string { return r.Model }),
		func(g *accuracy.Group) string { return g.Model })
	if err != nil {
		return nil, nil, err
	}
	accelerators, err = p.fold(ctx, data, solution, p.names(func(r *row) string { return r.GPU }),
		func(g *accuracy.Group) string { return g.GPU })
	return models, accelerators, err
}

// leaveOutGroups predicts the rows that goals are about with constants fitted to all rows but the
// ones of the same engine, accelerator and model. The laws of power are fitted without them, too.
func (p *problem) leaveOutGroups(ctx context.Context, data *validation.Data,
	solution *linearised, draws []validation.Draw) (*accuracy.Report, error) {
	same := func(a, b *accuracy.Group) bool {
		return a.Engine == b.Engine && a.GPU == b.GPU &&
			a.Model == b.Model
	}
	var groups []accuracy.Group
	for i := range p.rows {
		g := p.rows[i].Group
		if g.Engine != "" && !slices.ContainsFunc(groups, func(known accuracy.Group) bool {
			return same(&g, &known)
		}) {
			groups = append(groups, g)
		}
	}
	all := &accuracy.Report{}
	for i := range groups {
		g := &groups[i]
		p.progress(fmt.Sprintf("without %s on %s under %s (%d of %d)", g.Model, g.GPU, g.Engine,
			i+1, len(groups)))
		v, _, err := p.without(solution, func(r *row) bool { return !same(&r.Group, g) })
		if err != nil {
			return nil, err
		}
		left := data.Where(func(_ string, other accuracy.Group) bool { return same(&other, g) })
		physics := v.physics()
		laws, err := fitPower(slices.DeleteFunc(slices.Clone(draws),
			func(d validation.Draw) bool { return same(&d.Group, g) }))
		if err != nil {
			return nil, err
		}
		physics.Power = laws.of
		r, err := left.Compare(ctx, physics)
		if err != nil {
			return nil, err
		}
		add(all, r)
	}
	return all, nil
}

// names lists what rows other than single kernels' have.
func (p *problem) names(of func(*row) string) []string {
	seen := map[string]bool{}
	for i := range p.rows {
		if r := &p.rows[i]; !r.kernel {
			seen[of(r)] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// fold leaves out each of the names in turn and collects the predictions of the rows that were left
// out.
func (p *problem) fold(ctx context.Context, data *validation.Data, solution *linearised,
	names []string, of func(*accuracy.Group) string) (*accuracy.Report, error) {
	if len(names) < 2 {
		return nil, nil
	}
	all := &accuracy.Report{}
	for i, name := range names {
		p.progress(fmt.Sprintf("without %s (%d of %d)", name, i+1, len(names)))
		v, weights, err := p.without(solution, func(r *row) bool { return of(&r.Group) != name })
		if err != nil {
			return nil, err
		}
		p.forget(v, weights)
		left := data.Where(func(_ string, g accuracy.Group) bool {
			_, known := v.engines[family(g.Engine)]
			return of(&g) == name && (known || g.Engine == "")
		})
		r, err := left.Compare(ctx, v.physics())
		if err != nil {
			return nil, err
		}
		add(all, r)
	}
	return all, nil
}

// forget drops the constants of accelerators, links and engines without a kept row.
func (p *problem) forget(v *values, weights []float64) {
	accelerators, links, engines := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, w := range weights {
		if r := &p.rows[i]; w > 0 {
			accelerators[p.accelerators[r.GPU]], engines[family(r.Engine)] = true, true
			if r.TP > 1 {
				links[p.linkOf(r)] = true
			}
		}
	}
	maps.DeleteFunc(v.accelerators, func(name string, _ hardware.Constants) bool {
		return !accelerators[name]
	})
	maps.DeleteFunc(v.links, func(name string, _ hardware.Collective) bool { return !links[name] })
	maps.DeleteFunc(v.engines, func(name string, _ steptime.Engine) bool { return !engines[name] })
}

// add appends the rows of a report to the rows of the same tables.
func add(all, part *accuracy.Report) {
	for _, t := range part.Tables {
		i := slices.IndexFunc(all.Tables, func(a accuracy.Table) bool { return a.Name == t.Name })
		if i < 0 {
			all.Tables = append(all.Tables, accuracy.Table{Name: t.Name, Files: t.Files})
			i = len(all.Tables) - 1
		}
		all.Tables[i].Rows = append(all.Tables[i].Rows, t.Rows...)
	}
}
