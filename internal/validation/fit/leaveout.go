package fit

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios/evidence"
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

// leftOut is predictions of rows with constants that were fitted without them.
type leftOut struct {
	fitted *accuracy.Report // of all rows
	// groups are without the rows of the same engine, accelerator and model. halves are predictions
	// of these rows without the first half of them and without the second; of says which half a row
	// is in. releases are without the rows of the engine's releases of a few months.
	groups, releases accuracy.Report
	halves           [2]accuracy.Report
	of               map[accuracy.RowName]int
}

// write writes errors.csv.
func (l *leftOut) write(w io.Writer) error {
	return accuracy.WriteErrors(w, l.fitted, &l.groups, &l.releases,
		[2]*accuracy.Report{&l.halves[0], &l.halves[1]}, l.of)
}

// leaveOutGroups predicts the rows that goals are about with constants fitted to all rows but the
// ones of the same engine, accelerator and model, and to all but each half of these; and to all but
// the ones of the engine's releases of the same months. The laws of power are fitted without the
// group, too. fitted is the predictions of all rows.
func (p *problem) leaveOutGroups(ctx context.Context, data *validation.Data,
	fitted *accuracy.Report, solution *linearised, draws []validation.Draw) (*leftOut, error) {
	all := &leftOut{fitted: fitted, of: map[accuracy.RowName]int{}}
	// predict adds to a report the chosen rows under constants fitted to the rows that keep
	// accepts.
	predict := func(into *accuracy.Report, chosen func(*accuracy.Group) bool, laws powerLaws,
		keep func(*row) bool) error {
		v, _, err := p.without(solution, keep)
		if err != nil {
			return err
		}
		physics := v.physics()
		physics.Power = laws.of
		r, err := data.Where(func(_ string, g accuracy.Group) bool {
			return chosen(&g)
		}).Compare(ctx, physics)
		if err == nil {
			add(into, r)
		}
		return err
	}
	groups := p.groups(func(g accuracy.Group) accuracy.Group {
		return accuracy.Group{Engine: g.Engine, GPU: g.GPU, Model: g.Model}
	})
	for i, g := range groups {
		p.progress(fmt.Sprintf("without %s on %s under %s (%d of %d)", g.Model, g.GPU, g.Engine,
			i+1, len(groups)))
		same := func(other *accuracy.Group) bool {
			return other.Engine == g.Engine && other.GPU == g.GPU && other.Model == g.Model
		}
		laws, err := fitPower(slices.DeleteFunc(slices.Clone(draws),
			func(d validation.Draw) bool { return same(&d.Group) }))
		if err == nil {
			err = predict(&all.groups, same, laws, func(r *row) bool { return !same(&r.Group) })
		}
		if err != nil {
			return nil, err
		}
		of := accuracy.Halves(fitted.Rows(func(c *accuracy.Comparison) bool {
			return same(&c.Group)
		}))
		maps.Copy(all.of, of)
		for half := range all.halves {
			if of == nil {
				continue
			}
			err := predict(&all.halves[half], same, laws, func(r *row) bool {
				in, known := of[r.key]
				return !same(&r.Group) || known && in != half
			})
			if err != nil {
				return nil, err
			}
		}
	}
	for _, g := range p.groups(func(g accuracy.Group) accuracy.Group {
		return accuracy.Group{Engine: family(g.Engine), Version: g.Version}
	}) {
		at, known := engines.Month(g.Engine, g.Version)
		if !known {
			continue
		}
		p.progress(fmt.Sprintf("without the releases around %s %s", g.Engine, g.Version))
		err := predict(&all.releases, func(other *accuracy.Group) bool {
			return family(other.Engine) == g.Engine && other.Version == g.Version
		}, nil, func(r *row) bool {
			month, known := engines.Month(r.Engine, r.Version)
			return !known || engines.Of(r.Engine) != engines.Of(g.Engine) ||
				math.Abs(month-at) > evidence.NearMonths
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// groups lists the parts of the groups of servers' rows, each once.
func (p *problem) groups(part func(accuracy.Group) accuracy.Group) (list []accuracy.Group) {
	for i := range p.rows {
		if r := &p.rows[i]; r.Engine != "" && !slices.Contains(list, part(r.Group)) {
			list = append(list, part(r.Group))
		}
	}
	return list
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
