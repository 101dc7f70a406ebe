package capacity

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/judge"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/units"
)

// Options say how to answer a plan.
type Options struct {
	// Queue says how many simulations run at the same time, and on which machines. The answer does
	// not depend on it.
	Queue queue.Config
	// Shard is the part of the work to do; its results go into the journal, and there is no answer.
	// All parts look for the cheapest fleet, and share the rest.
	Shard planner.Shard
	// Recorded takes all results from the journal. A missing result is a shard.Missing error.
	Recorded bool
	// Journal keeps the results of simulations, so that a stopped plan can go on; nil keeps
	// nothing.
	Journal *planner.Journal
	// Curves asks for simulations of the answer below and above its load, for pictures.
	Curves bool
	// Short leaves out what only the whole page shows: what limits each kind of replica, what would
	// help one replica fewer, and the answers for inputs that are 10 % off.
	Short bool
	// Leads is told the best fleet so far, in words: first without settings beside the menu's, and
	// then each better one. It may be nil.
	Leads func(words string)
	// Ran is called after each simulation, by several goroutines. It may be nil.
	Ran func()
}

// standing is what is known of each option, and which of them leads.
type standing struct {
	judge.Judge
	options  []*candidate.Option
	outcomes []outcome // of each option
	best     int       // index of the option that leads; -1 without one
	// sizes is what is known of fleets that were simulated whole, by option.
	sizes map[int]*judge.Numbers
	// rows is what is known of the shapes for which the plan was answered alone.
	rows map[string]row
	// prior is the label of the option that is taken of equal ones; empty without one.
	prior string
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
	// sized reports whether replicas is the least number that whole fleets show.
	sized bool
	// running is how many run on average, spares included, of a fleet that is scaled and whose
	// number of replicas is known.
	running float64
	// dear has the numbers of replicas that were too dear when they were looked at, with how many
	// of them run at least: where the best turns out to need more, they are looked at again.
	dear map[int]float64
	// kept is the highest rate of a replica that is known to be sustained, and missed the verdict
	// on the lowest that is not; 0 and nil where it is unknown.
	kept   float64
	missed *judge.Verdict
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
func (s *standing) label(i int) string { return s.options[i].Label(&s.Trials.File.Plan.Menu) }

// tried returns what is known of the fleets of option i.
func (s *standing) tried(i int) *judge.Numbers {
	if s.sizes[i] == nil {
		if s.sizes == nil {
			s.sizes = map[int]*judge.Numbers{}
		}
		s.sizes[i] = &judge.Numbers{}
	}
	return s.sizes[i]
}

// replicas and cost of the best fleet, spares included.
func (s *standing) size() int                 { return s.outcomes[s.best].replicas + s.Spare }
func (s *standing) cost() float64             { return s.hourly(s.best) }
func (s *standing) chosen() *candidate.Option { return s.options[s.best] }
func (s *standing) accelerators() int         { return s.chosen().Total(s.size()) }

// wordsOfBest names the best fleet.
func (s *standing) wordsOfBest() string {
	whole, n := s.chosen().Whole(s.size())
	return units.Plural(n, "replica") + " of " + whole.Label(&s.Trials.File.Plan.Menu)
}

// hourly is what the fleet of an option costs whose number of replicas is known, in $/h.
func (s *standing) hourly(i int) float64 {
	outcome, o := &s.outcomes[i], s.options[i]
	if o.Scaled() {
		return float64(outcome.running * o.Price)
	}
	return o.Cost(outcome.replicas + s.Spare)
}

// beats reports whether a fixed number of replicas of o, with the spares, is a better answer than
// the best.
func (s *standing) beats(o *candidate.Option, n int) bool {
	return s.wins(o, n, o.Cost(n+s.Spare))
}

// wins reports whether n replicas of o, with the spares, at that price an hour are a better answer
// than the best: cheaper, or as cheap with better evidence, with fewer accelerators, or plainer.
func (s *standing) wins(o *candidate.Option, n int, hourly float64) bool {
	if s.best < 0 {
		return true
	}
	c := cmp.Or(comparePrices(hourly, s.cost()),
		cmp.Compare(candidate.Rank(o.Grade), candidate.Rank(s.chosen().Grade)),
		cmp.Compare(o.Total(n+s.Spare), s.accelerators()))
	return c < 0 || c == 0 && s.comparePlain(o, s.chosen()) < 0
}

// comparePlain compares options whose fleets are equally good, by what does not depend on their
// order on the menu: first is the one that a search before it took, with fewer settings beside the
// menu's, with smaller replicas, or by name.
func (s *standing) comparePlain(a, b *candidate.Option) int {
	labelA, labelB := a.Label(&s.Trials.File.Plan.Menu), b.Label(&s.Trials.File.Plan.Menu)
	if labelA != labelB && (labelA == s.prior || labelB == s.prior) {
		return map[bool]int{true: -1, false: 1}[labelA == s.prior]
	}
	return cmp.Or(cmp.Compare(len(a.Settings()), len(b.Settings())), cmp.Compare(a.GPUs, b.GPUs),
		strings.Compare(sortable(labelA), sortable(labelB)))
}

// sortable returns a name whose numbers have as many digits each, so that 512 comes before 2048.
func sortable(name string) string {
	return regexp.MustCompile(`\d+`).ReplaceAllStringFunc(name, func(digits string) string {
		return strings.Repeat("0", max(0, 12-len(digits))) + digits
	})
}

// samePrice is how far apart two prices are that differ by rounding alone, as a share: a third of a
// price times three need not be that price.
const samePrice = 1e-9

// comparePrices compares two prices that are not known better than to their rounding.
func comparePrices(a, b float64) int {
	if math.Abs(a-b) <= samePrice*max(math.Abs(a), math.Abs(b)) {
		return 0
	}
	return cmp.Compare(a, b)
}

// mayWin reports whether an option could be the better answer, by the bounds.
func (s *standing) mayWin(i int) bool {
	return s.wins(s.options[i], s.Fewest(s.options[i]), s.leastCost(i))
}

// leastCost returns the least that a fleet of option i could cost, by the bounds.
func (s *standing) leastCost(i int) float64 { return s.leastOf(s.options[i]) }

func (s *standing) leastOf(o *candidate.Option) float64 {
	if o.Scaled() {
		return float64(max(o.Scaling.Mean, float64(o.Always()+s.Spare)) * o.Price)
	}
	return o.Cost(s.Fewest(o) + s.Spare)
}

// makeBest makes an option the best.
func (s *standing) makeBest(i int) {
	if s.best >= 0 {
		s.outcomes[s.best].kind = simulated
	}
	s.outcomes[i].kind, s.outcomes[i].words, s.best = chosen, "", i
}

// first returns how many replicas of an option are simulated first, and the most that may be asked
// of it: the most that would be cheaper than the best, or where there is nothing to beat yet, the
// fewest possible.
func (s *standing) first(o *candidate.Option) (n, most int) {
	fewest, most := s.Fewest(o), s.Most(o)
	if s.best < 0 {
		return fewest, most
	}
	for most >= fewest && !s.beats(o, most) {
		most = min(most-1, int(o.Affordable(s.cost()*(1+samePrice)))-s.Spare)
	}
	return most, most
}

// load returns the load of the fleet, or nil if no option fits.
func (s *standing) load() *asked.Load {
	for _, o := range s.options {
		if o.Unfit() == "" {
			return o.Load()
		}
	}
	return nil
}

// millions returns how many million output tokens the load asks for in an hour; 0 if that depends
// on the fleet.
func (s *standing) millions() float64 {
	flow := s.load().Flow
	if peak := s.Trials.File.Plan.Peak(); s.Rate != peak {
		flow *= s.Rate / peak // the goal was to raise it
	}
	if p := &s.Trials.File.Plan; p.Steady() && p.Peak() > 0 {
		flow *= p.Mean() / p.Peak()
	}
	return flow * 3600 / 1e6
}

// left reports whether requests are left for a part of what comes after the first answer. It is
// asked while nothing is simulated, so that the answer does not depend on what ends first.
func (s *search) left(part string) bool {
	most := s.Trials.File.Plan.Effort.Refine
	if most == 0 || s.Trials.Requests()-s.answered < most {
		return true
	}
	if !slices.Contains(s.undone, part) {
		s.undone = append(s.undone, part)
	}
	return false
}

// unlessBroken notes an error that says that the simulations of an option failed, and returns any
// other.
func (s *standing) unlessBroken(i int, err error) error {
	if words, failed := judge.Failure(err); failed {
		s.outcomes[i].kind, s.outcomes[i].words = broken, words
		return nil
	}
	return err
}

// mayBeatBest reports whether an option may keep the SLO as a fleet that costs less than the best,
// whatever one replica showed: a fleet shares its requests more evenly than chance does.
func (s *standing) mayBeatBest(i int) bool {
	kind := s.outcomes[i].kind
	return kind == simulated || kind == costsMore || s.outcomes[i].replicas > 0
}

// mostWorthwhile returns the largest number of replicas with which an option beats the best; 0 if
// no number does.
func (s *standing) mostWorthwhile(i int) int {
	o := s.options[i]
	n := min(s.Most(o), int(o.Affordable(s.cost()))-s.Spare+1)
	for n > 0 && !s.beats(o, n) {
		n--
	}
	return n
}

// row is the answer where a shape is the whole menu: replicas of an option, without spares, and
// their price an hour. Where no fleet keeps the SLO for the price up to which one was looked for,
// option is -1, and limit says what the nearest lacks.
type row struct {
	option, replicas int
	hourly           float64
	limit            string
}

// rowOf returns the row of a shape, which of the answer's is the answer, and whether it is known.
func (s *standing) rowOf(shape string) (row, bool) {
	if s.best >= 0 && s.chosen().Shape() == shape {
		return row{option: s.best, replicas: s.outcomes[s.best].replicas, hourly: s.cost()}, true
	}
	r, known := s.rows[shape]
	return r, known
}
