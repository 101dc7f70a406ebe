// Package capacity finds the cheapest fleet that meets an SLO: from a model, a workload, an SLO and
// a menu of hardware and settings to a number of replicas, with the reasons why other options lose.
//
// If possible, a fleet is sized by simulating one replica. Requests that arrive as a Poisson
// process and are dealt out at random arrive at each replica as a Poisson process (Kingman,
// "Poisson Processes", 1993, colouring theorem). Dealing them out in turn makes arrivals more even.
// So n replicas sustain n times the rate of one, and the chosen fleet is simulated whole in the
// end. For any other load, such as a recorded one, whole fleets are simulated.
//
// Data goes one way: package asked has what is asked for and what there is to choose from,
// candidate what can be built of it and bounds on it, judge simulates candidates and decides
// whether fleets keep the SLO, this package has a goal for each thing that a plan may ask for,
// detail knows fleets, and not how they are looked for, and package answer has what was found, as
// values and as text.
package capacity

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// finding is the result of a search, with what its goal knows beside the best fleet.
type finding struct {
	*search
	goal goal
}

// goalOf returns the goal of a plan.
func goalOf(s *search) goal {
	switch s.Goal().Find {
	case asked.FindJob:
		return &jobGoal{search: s}
	case asked.FindThroughput:
		return &throughputGoal{fleetGoal: fleetGoal{s}}
	case asked.FindFront:
		return &frontGoal{fleetGoal: fleetGoal{s}}
	}
	return &cheapestGoal{fleetGoal{s}}
}

// find searches for the fleet that the goal asks for, for one model.
func find(ctx context.Context, f *asked.File, q *queue.Queue, o Options) (*finding, error) {
	s, err := newSearch(ctx, f, q, o)
	if err != nil {
		return nil, err
	}
	if f.Today != nil { // what cannot be compared is refused before anything is simulated
		if _, _, err := detail.Deployment(&s.Judge, s.options); err != nil {
			return nil, err
		}
	}
	if err := s.possible(); err != nil {
		return nil, err
	}
	found := &finding{search: s, goal: goalOf(s)}
	return found, found.goal.find(ctx)
}

// newAnswer makes an answer from a finding.
func newAnswer(ctx context.Context, f *asked.File, found *finding) (*answer.Answer, error) {
	s, p := found.search, &f.Plan
	var err error
	a := &answer.Answer{Joint: s.joint, Name: p.Name, Model: p.Model, Goal: p.Goal,
		Currency: p.Currency, Prices: p.PricesFrom(), Warnings: p.Warnings(),
		SLO: p.SLO, ClassSLOs: classSLOs(p), Rate: s.Rate, Spare: s.Spare,
		Confidence: p.Effort.Confidence,
		Options:    s.listed(), Tuned: s.tuned, Simulations: s.Trials.Count()}
	if words := f.Together(); words != "" {
		a.Warnings = append(a.Warnings, words)
	}
	if l := s.load(); l != nil {
		a.Load = l.Words
	}
	a.SentOn = p.SentOn
	var chosen *candidate.Option
	if s.best >= 0 {
		chosen = s.chosen()
	}
	a.PricesOf = candidate.Prices(s.options, chosen, s.Currency())
	addOutcomes(a, s)
	a.Unproven = s.unproven(found.goal.rules())
	if err := found.goal.show(ctx, a); err != nil {
		return nil, err
	}
	a.BestMeasured = candidate.BestMeasured(a.Shapes)
	if s.best >= 0 {
		err = found.goal.describe(ctx, a)
	} else {
		a.Nearest = s.nearest()
		err = s.adviseNearest(ctx, a.Nearest)
	}
	if err != nil {
		return nil, err
	}
	addKnownOff(a, s)
	if f.Today != nil {
		var best *detail.Fleet
		if s.best >= 0 {
			best = s.fleet()
		}
		if a.Today, err = detail.Compare(ctx, &s.Judge, s.options, best); err != nil {
			return nil, err
		}
	}
	if s.undone != nil {
		a.Warnings = append(a.Warnings, fmt.Sprintf("After %s requests, some were not tried: %s "+
			"(effort.refine).", units.Count(p.Effort.Refine), strings.Join(s.undone, "; ")))
	}
	a.Further = s.Trials.Count() - a.Simulations
	a.Failed = s.Trials.Failed()
	return a, nil
}

// addKnownOff adds what is known to be off of the predictions for the answer, or for the option
// nearest to one, and of those for others.
func addKnownOff(a *answer.Answer, s *search) {
	shown := s.best
	if a.Nearest != nil {
		shown = a.Nearest.Option
	}
	if shown >= 0 {
		a.KnownOff = s.options[shown].KnownOff()
	}
	for _, o := range s.options {
		for _, words := range o.KnownOff() {
			if !slices.Contains(a.KnownOff, words) && !slices.Contains(a.OthersOff, words) {
				a.OthersOff = append(a.OthersOff, words)
			}
		}
	}
}

// classSLOs returns the SLOs of classes that have one of their own.
func classSLOs(p *asked.Plan) []answer.ClassSLO {
	var list []answer.ClassSLO
	for _, c := range p.Workload.Classes {
		if c.SLO != (scenarios.SLO{}) {
			list = append(list, answer.ClassSLO{Class: c.Name, SLO: c.SLO.Complete()})
		}
	}
	return list
}

// Solve answers the plan. An SLO that no option meets is an answer too: see Answer.Nearest. Several
// models have the fleets that cost the least together.
func Solve(ctx context.Context, f *asked.File, o Options) (*answer.Answers, error) {
	q, err := queue.Open(ctx, o.Queue, queue.Handlers{judge.Kind: judge.Simulate})
	if err != nil {
		return nil, err
	}
	defer q.Close()
	all := &answer.Answers{Name: f.Plan.Name, Currency: f.Plan.Currency}
	if all.Models, all.Divided, err = solveEach(ctx, f, q, o); err != nil {
		return nil, f.Asked(err)
	}
	for _, a := range all.Models {
		if d := a.Chosen; d != nil {
			all.Accelerators += d.Accelerators
			all.Hourly += d.Hourly
		}
	}
	if o.Shard.Whole() {
		return all, nil
	}
	if n := all.Failed(); n > 0 {
		return nil, planner.ShardFailed(n)
	}
	return nil, nil
}

// solveEach answers the plan of each model: with the fleet that it would have alone, where there
// are accelerators for all of these; else with fleets that are chosen jointly, or where no joint
// choice is possible, in turn.
func solveEach(ctx context.Context, f *asked.File, q *queue.Queue, o Options) (
	list []*answer.Answer, by *answer.Divided, err error) {
	shared, err := findEach(ctx, f, q, o)
	if err != nil {
		return nil, nil, err
	}
	parts, found := shared.parts, shared.found
	var searches []*search
	for _, one := range found {
		searches = append(searches, one.search)
	}
	j := newJointSearch(searches)
	for _, one := range found {
		one.joint = len(parts) > 1 && len(j.offers) > 0
	}
	if len(parts) > 1 && j.conflict() {
		possible, err := j.choose(ctx)
		if err != nil {
			return nil, nil, err
		}
		if !possible {
			list, err = inTurn(ctx, f, q, o)
			return list, nil, err
		}
		for _, one := range found {
			one.shared = true
		}
	}
	for k, part := range parts {
		a, err := newAnswer(ctx, part, found[k])
		if err != nil {
			return nil, nil, err
		}
		if a.ClassesApart = shared.apart; len(parts) > 1 {
			a.ClassesApart, a.ClassesTogether = 0, shared.together
		}
		list = append(list, a)
	}
	return list, shared.divided, nil
}

// findEach finds the fleet of each model alone, or of each set of classes that share servers.
func findEach(ctx context.Context, f *asked.File, q *queue.Queue, o Options) (*sharing, error) {
	if f.Divides() {
		return partition(ctx, f, q, o)
	}
	s := &sharing{parts: questions(f)}
	if len(s.parts) == 1 {
		return byPrompts(ctx, s.parts[0], q, o)
	}
	for _, part := range s.parts {
		one, err := find(ctx, part, q, o)
		if err != nil {
			return nil, err
		}
		s.found = append(s.found, one)
	}
	return s, nil
}

// inTurn answers the plan of each model with what the models before it leave.
func inTurn(ctx context.Context, f *asked.File, q *queue.Queue, o Options) ([]*answer.Answer,
	error) {
	var list []*answer.Answer
	hardware := f.Plan.Menu.Hardware
	for _, part := range questions(f) {
		if part.Plan.Menu.Hardware = hardware; len(hardware) == 0 {
			return nil, scenarios.BadInput(
				fmt.Errorf("%s: no accelerators are left for %s: the models before it take all "+
					"of them",
					f.Name, part.Plan.Name))
		}
		found, err := find(ctx, part, q, o)
		if err != nil {
			return nil, err
		}
		a, err := newAnswer(ctx, part, found)
		if err != nil {
			return nil, err
		}
		if a.Chosen != nil {
			hardware = found.remaining(hardware)
		}
		list = append(list, a)
	}
	return list, nil
}

// parts returns a plan for each model.
func questions(f *asked.File) []*asked.File {
	var list []*asked.File
	for _, m := range f.Plan.Models {
		p := f.Plan
		p.Models, p.Name = nil, cmp.Or(m.Name, m.Model)
		p.Model, p.MaxModelLen, p.Workload, p.SLO = m.Model, m.MaxModelLen, m.Workload,
			m.SLO.Complete()
		p.SentOn, p.OneOf = asked.EscalatedWords(m.Escalated), true
		list = append(list, &asked.File{Plan: p, Name: f.Name})
	}
	if list == nil {
		return []*asked.File{f}
	}
	return list
}

// remaining returns the offers with the accelerators that are left when the best fleet has taken
// its own.
func (s *search) remaining(offers []asked.Offer) []asked.Offer {
	var left []asked.Offer
	for _, o := range offers {
		took := 0
		for _, offer := range s.chosen().Offers() {
			if *offer == o {
				took = s.chosen().Accelerators(offer, s.size())
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

// sized is a possible fleet of one of several models.
type sized struct {
	model, option int
	replicas      int // without the spares; a bound from below unless exact
	exact         bool
}

// choice is such a fleet with what it costs, and the accelerators of each counted offer that it
// takes.
type choice = judge.Choice[sized]

// jointSearch chooses fleets for several models that share accelerators.
type jointSearch struct {
	searches []*search
	offers   []asked.Offer // the ones that are counted
	stock    []int         // of each
	// sizes holds the least number of replicas of the options of each model, as far as it is known;
	// 0 if no number suffices.
	sizes  []map[int]int
	picked []choice // the cheapest fleets by what is known; nil where there are no such fleets
}

// newJointSearch prepares the choice from the fleets that each model would have alone.
func newJointSearch(searches []*search) *jointSearch {
	j := &jointSearch{searches: searches, sizes: make([]map[int]int, len(searches))}
	for k, s := range searches {
		j.sizes[k] = map[int]int{}
		if s.best >= 0 {
			j.sizes[k][s.best] = s.outcomes[s.best].replicas
		}
		for _, o := range s.options {
			for _, offer := range o.Offers() {
				if offer.Count > 0 && !slices.Contains(j.offers, *offer) {
					j.offers, j.stock = append(j.offers, *offer), append(j.stock, offer.Count)
				}
			}
		}
	}
	return j
}

// acceleratorsUsed returns how many accelerators of each counted offer n replicas of an option and
// the spares have.
func (j *jointSearch) acceleratorsUsed(s *search, o *candidate.Option, n int) []int {
	list := make([]int, len(j.offers))
	for _, offer := range o.Offers() {
		if i := slices.Index(j.offers, *offer); i >= 0 {
			list[i] = o.Accelerators(offer, n+s.Spare)
		}
	}
	return list
}

// conflict reports whether the fleets that the models would have alone need more accelerators than
// exist.
func (j *jointSearch) conflict() bool {
	var taken [][]int
	for _, s := range j.searches {
		if s.best >= 0 {
			taken = append(taken, j.acceleratorsUsed(s, s.chosen(), s.outcomes[s.best].replicas))
		}
	}
	return !judge.Fit(j.stock, taken...)
}

// choose finds the fleets of all models that cost the least together and for which there are
// accelerators. It reports whether there are such fleets. It first takes the least cost and size of
// each option by the bounds, then sizes the chosen options, and repeats this until all chosen
// options are sized.
func (j *jointSearch) choose(ctx context.Context) (bool, error) {
	if err := judge.Search(ctx, j); err != nil || j.picked == nil {
		return false, err
	}
	for k, c := range j.picked {
		j.searches[k].take(c.Value.option, c.Value.replicas)
	}
	return true, nil
}

// Next returns the choices to size: of the cheapest fleets together the ones that are bounds. It
// returns no candidate where all are sized, or where there are no such fleets.
func (j *jointSearch) Next() []choice {
	j.picked = j.cheapest()
	return slices.DeleteFunc(slices.Clone(j.picked), func(c choice) bool { return c.Value.exact })
}

// Try sizes choices.
func (j *jointSearch) Try(ctx context.Context, some []choice) error {
	for _, c := range some {
		if err := j.size(ctx, c.Value.model, c.Value.option); err != nil {
			return err
		}
	}
	return nil
}

// take makes a fleet the answer.
func (s *search) take(option, replicas int) {
	if s.best >= 0 {
		was := &s.outcomes[s.best]
		was.kind, was.words = simulated, "its accelerators serve another model"
	}
	s.best = option
	s.outcomes[option].kind, s.outcomes[option].words = chosen, ""
	s.outcomes[option].replicas = replicas
}

// size finds the least number of replicas with which an option serves a model.
func (j *jointSearch) size(ctx context.Context, k, option int) error {
	s := j.searches[k]
	best, before := s.best, s.outcomes[option]
	s.best = -1
	err := s.try(ctx, option)
	err = s.unlessBroken(option, err)
	kept := s.best >= 0
	if err == nil && kept && !s.chosen().Scaled() {
		kept, err = s.sizeFleet(ctx)
	}
	j.sizes[k][option] = 0
	if s.best >= 0 {
		s.outcomes[option].kind, s.outcomes[option].words = simulated, before.words
	}
	if kept {
		j.sizes[k][option] = s.outcomes[option].replicas
	}
	s.best = best
	return err
}

// choices lists the fleets that a model may have.
func (j *jointSearch) choices(k int) []choice {
	s := j.searches[k]
	var all []choice
	for i, o := range s.options {
		if kind := s.outcomes[i].kind; kind == unfit || kind == outOfReach || kind == tooFew ||
			kind == broken || o.From != i && s.outcomes[i].replicas == 0 {
			continue
		}
		n, exact := j.sizes[k][i]
		if exact && n == 0 {
			continue
		}
		cost := s.leastCost(i)
		if exact {
			cost = s.hourly(i)
		} else {
			n = s.Fewest(o)
		}
		all = append(all, choice{Value: sized{model: k, option: i, replicas: n, exact: exact},
			Cost: cost, Takes: j.acceleratorsUsed(s, o, n)})
	}
	return all
}

// cheapest returns the cheapest choices for all models for which there are accelerators, or nil if
// there are no such choices.
func (j *jointSearch) cheapest() []choice {
	lists := make([][]choice, len(j.searches))
	for k := range lists {
		lists[k] = j.choices(k)
	}
	return judge.CheapestAssignment(lists, j.stock)
}
