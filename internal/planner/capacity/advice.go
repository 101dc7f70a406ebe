package capacity

import (
	"context"

	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/changes"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
)

// explain returns the diagnosis of the chosen fleet, as `llmsim scenario` gives it, and the changes
// with which one replica fewer would suffice.
func (s *search) explain(ctx context.Context) (insights []string, oneFewer *answer.Advice,
	err error) {
	if !s.Trials.Shard.Whole() {
		return nil, nil, nil
	}
	r, _, err := changes.Observed(ctx, &s.Judge, s.chosen().Spared(s.Spare), s.size(),
		candidate.AsPredicted())
	if err != nil {
		return nil, nil, err
	}
	if n := s.outcomes[s.best].replicas; n > 1 && s.Goal().Find == menu.FindCheapest {
		oneFewer, err = changes.Advise(ctx, &s.Judge, s.chosen(), n-1, s.options[s.best].Worst())
	}
	return diagnosis.Of(r), oneFewer, err
}

// adviseNearest adds the changes that would help the option that comes closest to the SLO. The
// option has all replicas that exist, or the least number that it needs.
func (s *search) adviseNearest(ctx context.Context, n *answer.Nearest) error {
	if find := s.Trials.File.Plan.Goal.Find; n == nil || find != menu.FindCheapest ||
		!s.Trials.Shard.Whole() {
		return nil
	}
	o, replicas := s.options[n.Option], 0
	if kind := s.outcomes[n.Option].kind; kind == broken || kind == outOfReach {
		return nil // nothing is known of it, or a request alone misses the SLO
	}
	for _, server := range o.Servers() {
		if server.Offer.Count > 0 {
			replicas = max(1, s.Most(o))
		}
	}
	if replicas == 0 {
		replicas = s.Fewest(o)
	}
	var err error
	n.Advice, err = changes.Advise(ctx, &s.Judge, o, replicas, o.Worst())
	return err
}
