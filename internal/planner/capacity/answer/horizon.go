package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
)

// Horizon is the cheapest way to serve a load that grows over months. Months count from 1.
type Horizon struct {
	Months int     `json:"months"`
	Growth float64 `json:"growth_per_month"`
	// Kinds are the servers that the schedule was chosen from, the answer's first.
	Kinds []HorizonKind `json:"kinds"`
	// TooFew names servers that are too few to keep the SLO alone in every month.
	TooFew []string `json:"too_few,omitempty"`
	// Rentals are what to rent, by their first month; empty where all servers are too few.
	Rentals []Rental `json:"rentals,omitempty"`
	// Cost is the price of the whole horizon, changes included.
	Cost    float64 `json:"dollars"`
	Changes int     `json:"changes"`
	// Mixed are the fleets of two kinds at once, by month; empty where one serves at a time.
	Mixed []MixedFleet `json:"mixed,omitempty"`
	// OneByOne is the cheapest schedule with one kind at a time, beside one with two; nil where it
	// is the answer, or there are too few of each kind.
	OneByOne *OneByOne `json:"one_kind_at_a_time,omitempty"`
	// Change is what it costs once to go from one kind of server to another, or to add another.
	Change float64 `json:"change_dollars,omitempty"`
	// Uncommitted is what the cheapest schedule without commitments costs.
	Uncommitted float64 `json:"dollars_without_commitments"`
	// HalfRegret and TwiceRegret are what the rentals of the first month cost too much if the load
	// grows half or twice as fast, beside a schedule that knew it. TwiceRegret is nil where a
	// server is too few for twice the growth, or that is not planned for.
	HalfRegret  float64  `json:"regret_at_half_growth_dollars"`
	TwiceRegret *float64 `json:"regret_at_twice_growth_dollars,omitempty"`
}

// MixedFleet is replicas of two kinds of server that serve at once. It was simulated whole, at the
// load of its last month.
type MixedFleet struct {
	From int `json:"first_month"`
	To   int `json:"last_month"`
	// Kept are the replicas of the older kind and Added the newer one's, spares included.
	Older string `json:"older"`
	Kept  int    `json:"older_replicas"`
	Newer string `json:"newer"`
	Added int    `json:"newer_replicas"`
	// Weight is how many requests come to a replica of the newer kind for each that comes to one of
	// the older kind, if they come in turn.
	Weight float64 `json:"newer_weight"`
	Rate   float64 `json:"requests_per_second,omitempty"`
	// Reduced is the least share of requests that keeps the SLO with any seed, spares of either
	// kind down, with steps and latencies as late as the plan demands.
	Seeds    int     `json:"seeds"`
	Requests int64   `json:"requests"`
	Reduced  float64 `json:"kept_without_spares"`
	// Share is what keeps it with all replicas and the first seed, as predicted. TTFT and TPOT are
	// 99th percentiles then, in milliseconds, and Scenario is that simulation.
	Share    float64 `json:"kept"`
	TTFT     float64 `json:"p99_ttft_ms"`
	TPOT     float64 `json:"p99_tpot_ms"`
	Scenario string  `json:"scenario"`
}

// OneByOne is a schedule with one kind of server at a time.
type OneByOne struct {
	Cost    float64 `json:"dollars"`
	Changes int     `json:"changes"`
}

// HorizonKind is a server of a horizon.
type HorizonKind struct {
	Label string `json:"label"`
	// Replicas keep the SLO, spares included, by month.
	Replicas []int `json:"replicas_by_month"`
	// Cost is the price of the horizon with this server from the first month to the last.
	Cost float64 `json:"dollars_alone"`
}

// Rental is replicas that are rented for one term after another.
type Rental struct {
	Label    string  `json:"label"`
	Replicas int     `json:"replicas"`
	Term     int     `json:"term_months"`
	From     int     `json:"first_month"`
	To       int     `json:"last_paid_month"`
	Cost     float64 `json:"dollars"`
	// Share is the part of the time that is paid: less than 1 by the hour.
	Share float64 `json:"share_of_time"`
	// Paid is the term of the offer: on-demand, also with a commitment, reserved, spot or owned;
	// empty for groups of several.
	Paid string `json:"paid,omitempty"`
}

// paid returns the rent by month for servers of a label, or of all for "", to the end of what is
// committed. The rent of a rental is the same in each of its months.
func (h *Horizon) paid(label string) []float64 {
	end := h.Months
	for i := range h.Rentals {
		end = max(end, h.Rentals[i].To)
	}
	list := make([]float64, end)
	for i := range h.Rentals {
		r := &h.Rentals[i]
		for m := r.From; m <= r.To && (label == "" || r.Label == label); m++ {
			list[m-1] += r.Cost / float64(r.To-r.From+1)
		}
	}
	return list
}

// words says what is rented: "2 replicas of 1 × b200 from month 5 to month 9, by the month ($98)".
func (r *Rental) words(a *Answer) string {
	from, to := "", fmt.Sprintf(" to month %d", r.To)
	if r.From > 1 {
		from = fmt.Sprintf(" from month %d", r.From)
	}
	if r.From == r.To {
		from, to = "", fmt.Sprintf(" in month %d", r.To)
	}
	term := to + ", by the month"
	if r.Share < 1 {
		term = fmt.Sprintf("%s, by the hour for %s of the time", to, units.Percent(r.Share))
	}
	switch {
	case r.Paid == asked.Owned:
		term = ", bought and counted" + to
	case r.Paid == asked.Reserved:
		term = ", reserved" + to
	case r.Term > 1:
		term = fmt.Sprintf(", committed for %d months", r.Term)
		if times := (r.To - r.From + 1) / r.Term; times > 1 {
			term = fmt.Sprintf(", committed for %d times %d months", times, r.Term)
		}
	}
	return fmt.Sprintf("%s of %s%s%s (%s)", units.Plural(r.Replicas, "replica"), r.Label, from,
		term, a.whole(r.Cost))
}

// more says by how much another schedule costs more; beside one of two kinds, also in a month.
func (h *Horizon) more(a *Answer, cost float64) string {
	words := a.whole(cost-h.Cost) + " more"
	if len(h.Mixed) > 0 {
		words += fmt.Sprintf(" (%s a month)", a.whole((cost-h.Cost)/float64(h.Months)))
	}
	return words
}

// words names the replicas of a fleet of two kinds: "8 replicas of 1 × h100-sxm beside 2 of 1 ×
// b200".
func (m *MixedFleet) words() string {
	return fmt.Sprintf("%s of %s beside %d of %s", units.Plural(m.Kept, "replica"), m.Older,
		m.Added, m.Newer)
}

// shown says what simulations of a fleet of two kinds showed.
func (m *MixedFleet) shown(spare int) string {
	down := ""
	if spare > 0 {
		down = "with spares down, and "
	}
	months := fmt.Sprintf("Month %d", m.From)
	if m.To > m.From {
		months = fmt.Sprintf("Months %d to %d", m.From, m.To)
	}
	return fmt.Sprintf("%s, %s: %s of %s requests meet the SLO, p99 TTFT %s ms and TPOT %s ms; "+
		"%sas slow as they may be, at least %s with each of %d seeds.", months, m.words(),
		units.Percent(m.Share), units.Count(m.Requests), units.Figure(m.TTFT),
		units.Figure(m.TPOT), down, units.Percent(m.Reduced), m.Seeds)
}

// late says how long after the horizon a rental is paid, the longest of them; empty if all end.
func (h *Horizon) late() string {
	last := slices.MaxFunc(h.Rentals, func(a, b Rental) int { return cmp.Compare(a.To, b.To) })
	if last.To <= h.Months {
		return ""
	}
	return fmt.Sprintf("A commitment of %d months is paid to its end, %s after the horizon.",
		last.Term, units.Plural(last.To-h.Months, "month"))
}

// whole writes an amount of the currency without cents.
func (a *Answer) whole(amount float64) string {
	return a.Currency.Format(units.Count(int64(amount + 0.5)))
}

// brief says in a few lines what to rent.
func (h *Horizon) brief(a *Answer) doc.Blocks {
	if h == nil {
		return nil
	}
	head := fmt.Sprintf("Over %d months", h.Months)
	if h.Growth > 0 {
		head += fmt.Sprintf(" with %s more each month", units.Percent(h.Growth))
	}
	if len(h.Rentals) == 0 {
		return texts(head + ", no server of the menu keeps the SLO to the end: too few are " +
			strings.Join(h.TooFew, ", ") + ".")
	}
	kinds := "with one kind of server at a time"
	if len(h.Mixed) > 0 {
		first, last := &h.Mixed[0], &h.Mixed[len(h.Mixed)-1]
		kinds = fmt.Sprintf("with two kinds at once from month %d to %d: %s", first.From, last.To,
			first.words())
		if last.Added != first.Added {
			kinds += fmt.Sprintf(", at last %d", last.Added)
		}
	}
	list := []string{fmt.Sprintf("%s the least cost is %s, %s.", head, a.whole(h.Cost), kinds)}
	var begun []string
	var later []*Rental
	for i := range h.Rentals {
		if r := &h.Rentals[i]; r.From == 1 {
			begun = append(begun, r.words(a))
		} else {
			later = append(later, r)
		}
	}
	list = append(list, "Rent now: "+strings.Join(begun, "; ")+".", then(later, a), h.late())
	if one := h.OneByOne; one != nil && one.Changes > 0 {
		list = append(list, fmt.Sprintf("One kind at a time would cost %s, with %s of kind.",
			h.more(a, one.Cost), units.Plural(one.Changes, "change")))
	}
	if more := h.Uncommitted - h.Cost; more >= 0.5 {
		list = append(list, fmt.Sprintf("Without commitments it would cost %s more.",
			a.whole(more)))
	}
	for _, k := range h.Kinds {
		if k.Cost-h.Cost >= 0.5 {
			list = append(list, fmt.Sprintf("Only %s would cost %s.", k.Label, h.more(a, k.Cost)))
			break
		}
	}
	if h.Change > 0 && len(h.Kinds)+len(h.TooFew) == 1 {
		list = append(list, "No change is paid: there is one kind of server to rent.")
	}
	twice := h.TwiceRegret
	switch {
	case h.Growth == 0:
	case twice == nil:
		list = append(list, fmt.Sprintf("To begin so costs %s too much if the load grows half as "+
			"fast; twice as fast is more than is planned for.", a.whole(h.HalfRegret)))
	case h.HalfRegret < 0.5 && *twice < 0.5:
		list = append(list, "To begin so is right with half and with twice the growth too.")
	default:
		list = append(list, fmt.Sprintf("To begin so costs %s too much if the load grows half as "+
			"fast, and %s if twice as fast.", a.whole(h.HalfRegret), a.whole(*twice)))
	}
	return texts(list...)
}

// then says what is rented after the first month: the first of these rentals, and the number and
// cost of the others, so that the costs of a page add up to its total.
func then(later []*Rental, a *Answer) string {
	if len(later) == 0 {
		return ""
	}
	words := "Then " + later[0].words(a)
	if others := later[1:]; len(others) > 0 {
		cost := 0.0
		for _, r := range others {
			cost += r.Cost
		}
		words += fmt.Sprintf(", and %s (%s)", units.Plural(len(others), "later rental"),
			a.whole(cost))
	}
	return words + "."
}

// tables are the rentals and the needs of each kind by month.
func (h *Horizon) tables(a *Answer) (p doc.Blocks) {
	if h == nil || len(h.Rentals) == 0 {
		return nil
	}
	p.Heading("What to rent")
	for i := range h.Rentals {
		p.Item(h.Rentals[i].words(a))
	}
	for i := range h.Mixed {
		p.Text(h.Mixed[i].shown(a.Spare))
	}
	for _, k := range h.Kinds {
		p.Text(fmt.Sprintf("%s needs %s replicas, month by month; alone it costs %s.", k.Label,
			strings.Trim(fmt.Sprint(k.Replicas), "[]"), a.whole(k.Cost)))
	}
	if len(h.TooFew) > 0 {
		p.Text("Too few to serve alone to the end: " + strings.Join(h.TooFew, ", ") + ".")
	}
	return p
}
