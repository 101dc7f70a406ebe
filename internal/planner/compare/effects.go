package compare

import (
	"context"

	"github.com/llmsim/llmsim/scenarios"
)

// attribute runs the first variant with each change of a variant alone, if there are several, to
// show which of them matters.
func (c *Comparison) attribute(ctx context.Context, trials []*trial, seed uint64, o Options) error {
	for i, t := range trials {
		groups := groupDependent(c.Variants[i].Changes)
		if len(groups) < 2 {
			continue
		}
		for _, group := range groups {
			effect, err := effectOf(ctx, trials[0], t, group, seed, o.Workers)
			if err != nil {
				return err
			}
			c.Variants[i].Effects = append(c.Variants[i].Effects, effect)
		}
	}
	return nil
}

func effectOf(ctx context.Context, base, other *trial, group []Change, seed uint64,
	workers int) (Effect, error) {
	e := Effect{Change: group[0], With: group[1:]}
	from, to := settingsOf(base, other)
	v, err := alone(base.variant.Name, from, to, group)
	if err != nil {
		return e, err
	}
	t := &trial{variant: v}
	if err := replicateFrom(ctx, []*trial{t}, seed, 0, len(base.runs),
		workers); scenarios.IsInputError(err) {
		e.Impossible = err.Error()
		return e, nil
	} else if err != nil {
		return e, err
	}
	e.trial = t
	return e, nil
}
