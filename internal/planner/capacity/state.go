package capacity

import (
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/capacity/oracle"
	"github.com/llmsim/llmsim/internal/planner/capacity/strategy"
)

// search looks for the cheapest fleet of replicas of one kind.
type search struct {
	judge.Judge
	options  []*candidate.Option
	outcomes []outcome
	best     int // index of the option; -1 where there is none
	// replicaShare is the share of the replicas that one suggests with which a fleet was found to
	// do; 0 where that is not known.
	replicaShare float64
	// joint is set where other models take accelerators from the same stock.
	joint bool
	// shared is set where the fleet is not the best for this model alone for that reason.
	shared bool
	// fixed is what is known of the least fixed number of replicas of options that are scaled.
	fixed map[candidate.SameButScaling]int
	// missing is what became of options of which no fleet keeps the SLO, although one replica
	// suggests it.
	missing map[int]outcome
	// sizes is what is known of fleets that were simulated whole, by option; checked and better are
	// how many were since rules that are not proven had left them out, and how many of these were
	// better than what was known.
	sizes           map[int]*strategy.Numbers
	checked, better int
	// tuned is what settings beside the menu's brought; nil where none were tried.
	tuned *answer.Tuned
}

// outcome says what the search found out about an option.
type outcome struct {
	// kind groups the options that lost for the same kind of reason.
	kind kind
	// closest is the highest share that was seen to meet the SLO; 0 where nothing was simulated.
	closest float64
	// words say why a simulated option lost; see search.words for others.
	words string
	// replicas is the least number that sustains the rate, without spares; 0 where that is not
	// known.
	replicas int
	// running is how many run on average, spares included, of a fleet that is scaled and whose
	// number of replicas is known.
	running float64
	// kept is the highest rate of a replica that is known to be sustained, and missed the verdict
	// on the lowest that is not; 0 and nil where none is known.
	kept   float64
	missed *oracle.Verdict
}

// kind is the reason why an option was left out, in general; 0 if it is not known yet.
type kind uint8

const (
	chosen kind = 1 + iota
	unfit
	outOfReach
	tooFew
	costsMore
	simulated
	broken
	beyond
	outdone
)

// String returns the reason in words.
func (k kind) String() string {
	return [...]string{
		chosen:     "chosen",
		unfit:      "does not fit",
		outOfReach: "cannot meet the SLO even for a request that has the replica to itself",
		tooFew:     "there are too few accelerators",
		costsMore:  "costs more even at the roofline bound of its rate",
		simulated:  "simulated",
		broken:     "its simulations failed",
		beyond:     "the smallest fleet needs more than the accelerators, the budget or the power",
		outdone:    "another option is better, whatever a simulation would show",
	}[k]
}

// label names option i.
func (s *search) label(i int) string { return s.options[i].Label(&s.Trials.File.Plan.Menu) }

// tried returns what is known of the fleets of option i.
func (s *search) tried(i int) *strategy.Numbers {
	if s.sizes[i] == nil {
		if s.sizes == nil {
			s.sizes = map[int]*strategy.Numbers{}
		}
		s.sizes[i] = &strategy.Numbers{}
	}
	return s.sizes[i]
}
