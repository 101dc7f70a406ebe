package capacity

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/horizon"
)

// growing is a server whose replicas are counted for loads as large as any month's.
type growing struct {
	option int
	label  string
	fixed  float64 // beside the replicas, for an hour
	most   int     // replicas that there are, spares included
	// payments are the ways to pay for a replica; there are most replicas of widest.
	payments []payment
	widest   *asked.Offer
	// factors are multiples of the first month's load, ascending, and sizes the replicas that keep
	// the SLO then, spares included.
	factors []float64
	sizes   []int
}

// payment is a way to pay for a replica of a server.
type payment struct {
	offer *asked.Offer
	label string  // of the server that is paid for so
	term  string  // of the offer; empty of several
	price float64 // for an hour
	most  int     // replicas; 0 where there are as many as of the server
}

// way is a term on which a replica is paid for.
type way struct {
	horizon.Term
	*payment
}

// ways returns the terms of a server over months, and its payment without a term, if any. What is
// bought is paid as long as its years, or to the end of the horizon, as what is reserved is. Spot
// replicas are paid for month by month.
func (k *growing) ways(months int, commitments []asked.Commitment) (list []way, hourly *payment) {
	for i := range k.payments {
		p := &k.payments[i]
		t := horizon.Term{Months: 1, Monthly: p.price * asked.HoursOfMonth}
		switch p.term {
		case asked.OnDemand:
			for _, c := range commitments {
				list = append(list, way{horizon.Term{Months: c.Months,
					Monthly: t.Monthly * (1 - c.Saves)}, p})
			}
			hourly = p
			continue
		case asked.Owned, asked.Reserved:
			t.Months, t.Within, t.Most = months, true, p.most
			if n := int(math.Ceil(12 * p.offer.Years)); 0 < n && n < months && p.most == 0 {
				t.Months = n
			}
		}
		list = append(list, way{t, p})
	}
	return list, hourly
}

// payer finds the ways to pay for servers.
type payer struct{ *search }

// paidFor returns the server of an option with the ways to pay for it: over months, also those of
// other offers of the same accelerators. What is on demand is one of these only if there are no
// fewer of it than of the others, so that any number may be on demand.
func (s payer) paidFor(option int) *growing {
	o, p := s.options[option], &s.Trials.File.Plan
	k := &growing{option: option, label: s.label(option), fixed: o.Surcharge, most: s.Allowed(o)}
	own := payment{o.Prefill.Offer, k.label, o.Prefill.Offer.RentedOn(), o.Price, 0}
	if len(o.Offers()) > 1 && !o.OnDemand() && !o.IsSpot() {
		own.term = ""
	}
	k.widest, k.payments = own.offer, []payment{own}
	if p.Horizon == nil || !plain(o) {
		return k
	}
	own.most = k.most
	list, terms := []payment{own}, own.offer.Terms(p.Menu.Hardware)
	hourly := func(server *candidate.Server) float64 {
		return o.Price + float64(float64(o.GPUs)*(server.Hourly()-o.Prefill.Hourly()))
	}
	most, widest := k.most, own.offer
	for _, server := range s.alike(o.Prefill) {
		other := payment{server.Offer, strings.Replace(k.label, terms,
			server.Offer.Terms(p.Menu.Hardware), 1), server.Offer.RentedOn(),
			hourly(server), s.Allowed(o.On(server.Offer))}
		if other.most > 0 {
			list = append(list, other)
		}
		if other.most > most {
			most, widest = other.most, other.offer
		}
	}
	few := func(p payment) bool { return p.term == asked.OnDemand && p.most < most }
	if few(list[0]) {
		return k
	}
	if list = slices.DeleteFunc(list, few); len(list) == 1 {
		return k
	}
	for i := range list {
		if list[i].most == most {
			list[i].most = 0
		}
	}
	where := ""
	for _, w := range list {
		if p := w.offer.Provider; p != "" && where == "" {
			where = " from " + p
		}
	}
	if r := own.offer.Region; r != "" {
		where += " in " + r
	}
	k.label = strings.Replace(k.label, terms, where, 1)
	k.payments, k.most, k.widest = list, most, widest
	return k
}

// plain reports whether an option is of replicas of one kind, which are all paid for alike.
func plain(o *candidate.Option) bool {
	return o.Decode == nil && o.Standing == nil && !o.IsSpot()
}

// alike returns a server of each other offer of the accelerators of a server that may be in one
// fleet with it and with each other, and is not preempted. At most one of all is on demand, the
// cheapest.
func (s payer) alike(own *candidate.Server) (list []*candidate.Server) {
	p := &s.Trials.File.Plan
	seen := map[*asked.Offer]bool{own.Offer: true}
	var found []*candidate.Server
	for _, o := range s.options[:s.listed()] {
		if f := o.Prefill.Offer; plain(o) && o.Unfit() == "" && !seen[f] && *f != *own.Offer {
			seen[f] = true
			found = append(found, o.Prefill)
		}
	}
	slices.SortStableFunc(found, func(a, b *candidate.Server) int {
		return cmp.Compare(a.Hourly(), b.Hourly())
	})
	hourly := own.Offer.IsOnDemand()
	for _, server := range found {
		fits := p.Alike(server.Offer, own.Offer) && !(hourly && server.Offer.IsOnDemand())
		for _, other := range list {
			fits = fits && p.Joins(server.Offer, other.Offer)
		}
		if fits {
			list, hourly = append(list, server), hourly || server.Offer.IsOnDemand()
		}
	}
	return list
}

// has reports whether an option is the server, paid for in one of its ways.
func (k *growing) has(s payer, o *candidate.Option) bool {
	hardware := s.Trials.File.Plan.Menu.Hardware
	bare := func(o *candidate.Option) string {
		return strings.Replace(o.Shape(), o.Prefill.Offer.Terms(hardware), "", 1)
	}
	return len(k.payments) > 1 && plain(o) && bare(o) == bare(s.options[k.option]) &&
		slices.ContainsFunc(k.payments, func(p payment) bool {
			return *p.offer == *o.Prefill.Offer
		})
}
