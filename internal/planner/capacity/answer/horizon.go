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
	// TooFew names servers that are too few to keep the SLO in every month.
	TooFew []string `json:"too_few,omitempty"`
	// Rentals are what to rent, by their first month; empty where all servers are too few.
	Rentals []Rental `json:"rentals,omitempty"`
	// Cost is the price of the whole horizon, changes included.
	Cost    float64 `json:"dollars"`
	Changes int     `json:"changes"`
	// Change is what it costs once to go from one kind of server to another.
	Change float64 `json:"change_dollars,omitempty"`
	// Uncommitted is what the cheapest schedule without commitments costs.
	Uncommitted float64 `json:"dollars_without_commitments"`
	// HalfRegret and TwiceRegret are what the rentals of the first month cost too much if the load
	// grows half or twice as fast, beside a schedule that knew it. TwiceRegret is nil where a
	// server is too few for twice the growth, or that is not planned for.
	HalfRegret  float64  `json:"regret_at_half_growth_dollars"`
	TwiceRegret *float64 `json:"regret_at_twice_growth_dollars,omitempty"`
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
func (h *Horizon) brief(a *Answer) (list doc.Blocks) {
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
	list = texts(fmt.Sprintf("%s the least cost is %s, with one kind of server at a time.", head,
		a.whole(h.Cost)))
	begun, later := "Rent now: ", ""
	for i := range h.Rentals {
		switch r := &h.Rentals[i]; {
		case r.From == 1 && i > 0:
			begun += "; " + r.words(a)
		case r.From == 1:
			begun += r.words(a)
		case later == "":
			later = "Then " + r.words(a) + "."
		}
	}
	list = append(list, texts(begun+".")...)
	if later != "" {
		list = append(list, texts(later)...)
	}
	list = append(list, texts(h.late())...)
	if more := h.Uncommitted - h.Cost; more >= 0.5 {
		list = append(list, texts(fmt.Sprintf("Without commitments it would cost %s more.",
			a.whole(more)))...)
	}
	for _, k := range h.Kinds {
		if more := k.Cost - h.Cost; more >= 0.5 {
			words := fmt.Sprintf("Only %s would cost %s more.", k.Label, a.whole(more))
			list = append(list, texts(words)...)
			break
		}
	}
	if h.Change > 0 && len(h.Kinds) == 1 {
		list = append(list, texts("No change is paid: there is one kind of server to rent.")...)
	}
	twice := h.TwiceRegret
	switch {
	case h.Growth == 0:
	case twice == nil:
		list = append(list, texts(fmt.Sprintf("To begin so costs %s too much if the load grows "+
			"half as fast; twice as fast is more than is planned for.",
			a.whole(h.HalfRegret)))...)
	case h.HalfRegret < 0.5 && *twice < 0.5:
		list = append(list, texts("To begin so is right with half and with twice the growth "+
			"too.")...)
	default:
		list = append(list, texts(fmt.Sprintf("To begin so costs %s too much if the load grows "+
			"half as fast, and %s if twice as fast.", a.whole(h.HalfRegret), a.whole(*twice)))...)
	}
	return list
}

// tables are the rentals and the needs of each kind by month.
func (h *Horizon) tables(a *Answer) (list doc.Blocks) {
	if h == nil || len(h.Rentals) == 0 {
		return nil
	}
	var words []string
	for i := range h.Rentals {
		words = append(words, h.Rentals[i].words(a))
	}
	list = append(heading("What to rent"), items(words)...)
	for _, k := range h.Kinds {
		list = append(list, texts(fmt.Sprintf("%s needs %s replicas, month by month; alone it "+
			"costs %s.", k.Label, strings.Trim(fmt.Sprint(k.Replicas), "[]"),
			a.whole(k.Cost)))...)
	}
	return list
}
