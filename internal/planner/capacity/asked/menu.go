package asked

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// Menu is what there is to choose from: every combination of its lists is an option.
type Menu struct {
	Hardware []Offer              `json:"hardware,omitempty" jsonschema:"Accelerators, with prices and how many there are. Default: every GPU and TPU that has a price in the price file or, without one, in the catalogue."`
	Tensor   []int                `json:"tensor,omitempty" min:"1" max:"4096" jsonschema:"Degrees of tensor parallelism. Default: 1, 2, 4 and 8."`
	Pipeline []int                `json:"pipeline,omitempty" min:"1" max:"4096" jsonschema:"Numbers of pipeline stages. Default: 1."`
	Data     []int                `json:"data,omitempty" min:"1" max:"4096" jsonschema:"Numbers of data-parallel ranks of attention, for mixtures of experts. Default: 1."`
	Expert   []int                `json:"expert,omitempty" min:"1" max:"4096" jsonschema:"Degrees of expert parallelism. With data, the list must have the number of accelerators of a stage, over which the experts are spread, or 1, with which each expert is split over them. Default: with data, the experts are spread; else both, each expert split over the accelerators of a stage, and the experts spread over them."`
	Engines  []string             `json:"engines,omitempty" jsonschema:"Engine presets. Default: that of a scenario."`
	Weights  []string             `json:"weights,omitempty" enum:"fp32,fp16,bf16,fp8,fp8-block,int8,int4,fp4,mxfp4,q4_0,q4_k_m" jsonschema:"Number formats of the weights. Default: as published."`
	KVCache  []string             `json:"kv-cache,omitempty" enum:"fp32,fp16,bf16,fp8,int8,fp4" jsonschema:"Number formats of the KV cache. Default: that of activations."`
	Batching []scenarios.Policy   `json:"batching,omitempty" jsonschema:"Batching policies with their parameters. Default: that of a scenario."`
	Memory   []scenarios.KVMemory `json:"memory,omitempty" jsonschema:"Memory policies with their parameters. Default: that of a scenario."`
	Routing  []scenarios.Policy   `json:"routing,omitempty" jsonschema:"Routing policies with their parameters. Default: that of a scenario."`
	Tune     string               `json:"tune,omitempty" enum:"leaders,none" jsonschema:"Whether settings that the menu leaves to the engine, of batching and of the KV cache's format, are tried beside its defaults for the options nearest to the answer. Default: leaders."`
	Divide   string               `json:"divide,omitempty" enum:"none,classes,prompts" jsonschema:"Which requests may have servers of their own: none, classes of requests, or also prompts by their length, whether that seems to pay or not. Default: classes, and prompts of very different lengths."`
	// PlainCache leaves the format of the KV cache out of the settings that are tried.
	PlainCache bool `json:"-"`
	// Speculation, Disaggregated and Scaling add options; those without are there always.
	Speculation   []scenarios.Speculation `json:"speculation,omitempty" jsonschema:"Ways of speculative decoding. Options without it are tried too."`
	Disaggregated []Split                 `json:"disaggregated,omitempty" jsonschema:"Groups of prefill and decode replicas. Replicas that do both are tried too."`
	Scaling       []Autoscale             `json:"scaling,omitempty" jsonschema:"Ways of starting and stopping replicas while the load changes. Fixed numbers are tried too. The plan finds the largest number of running replicas."`
}

// Split is groups of replicas; within one, some compute prompts and the others go on from there. A
// fleet of n groups has n times the replicas of each kind.
type Split struct {
	Prefill Side `json:"prefill" required:"true" jsonschema:"The replicas that compute prompts: their number, or a mapping."`
	Decode  Side `json:"decode" required:"true" jsonschema:"The replicas that decode the answers: their number, or a mapping."`
}

// Side is what there is to choose from for one part of a group. Its lists take the place of the
// menu's. A list that both parts leave to the menu is chosen from once, for both.
type Side struct {
	Replicas Counts               `json:"replicas" short:"true" required:"true" jsonschema:"The number of such replicas in a group: a number, or a range such as 1..4."`
	Hardware []Offer              `json:"hardware,omitempty" jsonschema:"Accelerators, with prices and how many there are."`
	Tensor   []int                `json:"tensor,omitempty" min:"1" max:"4096" jsonschema:"Degrees of tensor parallelism."`
	Pipeline []int                `json:"pipeline,omitempty" min:"1" max:"4096" jsonschema:"Numbers of pipeline stages."`
	Data     []int                `json:"data,omitempty" min:"1" max:"4096" jsonschema:"Numbers of data-parallel ranks of attention."`
	Expert   []int                `json:"expert,omitempty" min:"1" max:"4096" jsonschema:"Degrees of expert parallelism."`
	Weights  []string             `json:"weights,omitempty" enum:"fp32,fp16,bf16,fp8,fp8-block,int8,int4,fp4,mxfp4,q4_0,q4_k_m" jsonschema:"Number formats of the weights."`
	Batching []scenarios.Policy   `json:"batching,omitempty" jsonschema:"Batching policies with their parameters."`
	Memory   []scenarios.KVMemory `json:"memory,omitempty" jsonschema:"Memory policies with their parameters."`
}

// Offer is accelerators that can be had.
type Offer struct {
	Accelerator string          `json:"accelerator,omitempty" short:"true" required:"true" jsonschema:"The accelerator's name."`
	File        string          `json:"file,omitempty" jsonschema:"A YAML file with accelerators of your own."`
	Link        string          `json:"link,omitempty" jsonschema:"The link between the accelerators of a node."`
	Network     string          `json:"network,omitempty" jsonschema:"What joins nodes."`
	PerNode     int             `json:"per-node,omitempty" min:"1" max:"65536" jsonschema:"The number of accelerators of a node. Default: the catalogue's."`
	Count       int             `json:"count,omitempty" min:"1" jsonschema:"The number of accelerators that exist. Default: as many as needed."`
	Price       scenarios.Price `json:"price,omitzero" above:"0" jsonschema:"The price of one accelerator. Default: that of the price file, or the catalogue's."`
	ByHour      ByHour          `json:"by-hour,omitzero" only:"on-demand,spot" jsonschema:"The hours of the day with another price, as multiples of price from above 0 to 10, such as 22..6 at 0.6 from 10 in the evening to 6 in the morning, or 0..6 at 0.5 and 17..21 at 1.4. A job then runs in the hours that cost least. Default: one price."`
	Currency    Currency        `json:"currency,omitzero" jsonschema:"The currency of the price, which has its sign too, such as EUR."`
	Region      string          `json:"region,omitempty" jsonschema:"The region of the accelerator, as the price file names it."`
	RoundTrip   scenarios.Span  `json:"round-trip,omitempty" above:"0" jsonschema:"How long a message takes from the users to the region of the accelerator and back: a part of every latency. Default: none."`
	Carbon      Carbon          `json:"carbon,omitempty" above:"0" jsonschema:"The emissions of its electricity, such as 380g/kWh."`
	Term        string          `json:"term,omitempty" kind:"true" enum:"on-demand,reserved,spot,owned" jsonschema:"How the accelerator is paid for: by the hour, for a long time, until the provider takes it back, or bought. Default: on-demand."`
	Provider    string          `json:"provider,omitempty" jsonschema:"The company that offers the accelerator. A fleet has one provider, unless the plan has mix-providers."`
	Date        string          `json:"date,omitempty" jsonschema:"The day of the price, such as 2026-11-22."`
	Source      string          `json:"source,omitempty" jsonschema:"The source of the price."`
	// What follows is how a spot accelerator is preempted.
	Interruptions scenarios.PerSecond `json:"interruptions,omitempty" above:"0" need:"spot" jsonschema:"How often a replica is preempted, such as 0.05/h."`
	Notice        scenarios.Span      `json:"notice,omitempty" above:"0" only:"spot" jsonschema:"The time between the announcement and the end of the replica, which serves until the end. Default: none."`
	Together      float64             `json:"together,omitempty" above:"0" max:"1" only:"spot" jsonschema:"The share of the interruptions that preempt all replicas of the offer at once, as when its region runs short. Default: none, each replica is preempted by itself."`
	Return        scenarios.Span      `json:"return,omitempty" above:"0" need:"spot" jsonschema:"The time from the announcement until another replica serves in its place."`
	// What follows is what an owned accelerator costs.
	Purchase    Purchase    `json:"purchase,omitzero" above:"0" need:"owned" jsonschema:"What one accelerator with its share of the host cost, such as $30000."`
	Years       float64     `json:"years,omitempty" above:"0" max:"50" need:"owned" jsonschema:"The years over which it is paid for."`
	Draw        Watts       `json:"draw,omitempty" above:"0" need:"owned" jsonschema:"What one accelerator draws all the time with its share of the host and of cooling, such as 1.2kW."`
	Electricity Electricity `json:"electricity,omitzero" above:"0" need:"owned" jsonschema:"The price of electricity, such as $0.12/kWh."`

	// listed and listedPrice are the provider and the catalogue's price in USD an hour, where the
	// offer has no price of its own.
	listed      string
	listedPrice float64
	exchanged   string // the rate at which the price was converted
}

// checkExperts refuses degrees of expert parallelism that never spread experts although attention
// is data-parallel: there they are spread over all accelerators of a stage or not at all.
func (c *checker) checkExperts() {
	m, none := &c.Menu, &Side{}
	c.checkExpertsOf("menu.expert", none, none)
	for i := range m.Disaggregated {
		field, d := fmt.Sprintf("menu.disaggregated.%d.", i), &m.Disaggregated[i]
		c.checkExpertsOf(field+"prefill.expert", &d.Prefill, &d.Decode)
		c.checkExpertsOf(field+"decode.expert", &d.Decode, &d.Prefill)
	}
}

func (c *checker) checkExpertsOf(field string, side, other *Side) {
	m := &c.Menu
	expert, _ := Own(m.Expert, side.Expert, other.Expert)
	data, _ := Own(m.Data, side.Data, other.Data)
	tensor, _ := Own(m.Tensor, side.Tensor, other.Tensor)
	if field != "menu.expert" && len(side.Expert)+len(side.Data)+len(side.Tensor) == 0 {
		return // as the menu's
	}
	var spread []int
	for _, ranks := range data {
		for _, degree := range tensor {
			if n := max(1, degree) * ranks; ranks > 1 && !slices.Contains(spread, n) {
				spread = append(spread, n)
			}
		}
	}
	works := func(n int) bool { return n == 0 || slices.Contains(spread, n) }
	if len(spread) == 0 || slices.Max(expert) == 1 || slices.ContainsFunc(expert, works) {
		return
	}
	c.problem(field, "found %s; with data-parallel attention, the experts are spread over all %d "+
		"accelerators of a stage, or with 1 each expert is split over them: add %[2]d, or leave "+
		"expert out",
		strings.Trim(fmt.Sprint(expert), "[]"), spread[0])
}

// Counts is a range of numbers of replicas, written 2 or 1..4.
type Counts struct{ From, To int }

// mostInGroup bounds the replicas of a group.
const mostInGroup = 1000

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Counts) UnmarshalText(text []byte) error { return c.read(text, 1) }

// read reads a number or a range from least on.
func (c *Counts) read(text []byte, least int) error {
	first, last, ranged := strings.Cut(string(text), "..")
	if !ranged {
		last = first
	}
	from, errFrom := strconv.Atoi(strings.TrimSpace(first))
	to, errTo := strconv.Atoi(strings.TrimSpace(last))
	if errFrom != nil || errTo != nil || from < least || to < from || to > mostInGroup {
		return fmt.Errorf("found %q; want a number of replicas from %d to %d, or a range such "+
			"as %[2]d..4", text, least, mostInGroup)
	}
	*c = Counts{from, to}
	return nil
}

// Fewest is a range of least numbers of replicas, which may be 0.
type Fewest struct{ Counts }

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Fewest) UnmarshalText(text []byte) error { return f.read(text, 0) }

// MarshalText implements encoding.TextMarshaler.
func (c Counts) MarshalText() ([]byte, error) {
	if c.From == c.To {
		return strconv.AppendInt(nil, int64(c.From), 10), nil
	}
	return fmt.Appendf(nil, "%d..%d", c.From, c.To), nil
}

// Size is how many numbers the range has.
func (c Counts) Size() int { return c.To - c.From + 1 }

// Own returns the list of a side, or else the menu's list, and reports whether one of the two sides
// has a list of its own. An empty list becomes a list with one value that leaves the choice to the
// scenario.
func Own[T any](menu, side, other []T) ([]T, bool) {
	if len(side) > 0 {
		return side, true
	}
	return OrNone(menu), len(other) > 0
}

// OrNone returns the list or, if it is empty, a list with one value that leaves the choice to the
// scenario's defaults.
func OrNone[T any](list []T) []T {
	if len(list) == 0 {
		return make([]T, 1)
	}
	return list
}

// Settings writes a policy and its parameters on one line.
func Settings(policy any) string {
	plain, err := strict.Plain(policy)
	if err != nil {
		return fmt.Sprint(policy)
	}
	return strings.NewReplacer("map[", "", "]", "").Replace(fmt.Sprint(plain))
}

// The terms on which accelerators are paid for.
const (
	OnDemand = "on-demand"
	Reserved = "reserved"
	Spot     = "spot"
	Owned    = "owned"
)

// RentedOn returns the term of an offer.
func (o *Offer) RentedOn() string { return cmp.Or(o.Term, OnDemand) }

// IsOnDemand reports whether the offer is paid for by the hour and can be given back.
func (o *Offer) IsOnDemand() bool { return o.RentedOn() == OnDemand }

// DiffersByHour reports whether some hours of the day have another price.
func (o *Offer) DiffersByHour() bool { return o.ByHour != (ByHour{}) }

// Joins reports whether one fleet may have accelerators of two offers: different providers' only
// where the plan mixes providers. The catalogue's price has the catalogue's provider. Offers
// without a provider join all others. All of a fleet is as far from its users.
func (p *Plan) Joins(a, b *Offer) bool {
	one, other := cmp.Or(a.Provider, a.listed), cmp.Or(b.Provider, b.listed)
	return a.RoundTrip == b.RoundTrip && (p.Mix || one == "" || other == "" || one == other)
}

// Stays reports whether accelerators of an offer may be the base beside spot ones: they are the
// same, join them, and are not preempted.
func (p *Plan) Stays(o, spot *Offer) bool {
	return o.Term != Spot && spot.Term == Spot && p.Alike(o, spot)
}

// Alike reports whether accelerators of two offers are the same and may be in one fleet: the offers
// differ in how they are paid for.
func (p *Plan) Alike(a, b *Offer) bool {
	like := func(o *Offer) Offer {
		return Offer{Accelerator: o.Accelerator, File: o.File, Link: o.Link, Network: o.Network,
			PerNode: o.PerNode}
	}
	return like(a) == like(b) && p.Joins(a, b)
}

// Terms returns the terms of an offer in words, which distinguish it from other offers of the same
// accelerator. They are empty for the only offer of an accelerator if it is on demand.
func (o *Offer) Terms(list []Offer) string {
	if o.RentedOn() == OnDemand && !slices.ContainsFunc(list, func(other Offer) bool {
		return other.Accelerator == o.Accelerator && other != *o
	}) {
		return ""
	}
	if o.Region == "" && o.Term == "" && o.Provider == "" {
		return o.at()
	}
	words := o.RentedOn()
	if o.Provider != "" {
		words += " from " + o.Provider
	}
	if o.Region != "" {
		words += " in " + o.Region
	}
	return " " + words + o.at()
}

// at returns the price of an offer in words, the catalogue's where it has no price of its own. It
// is empty where neither is known.
func (o *Offer) at() string {
	price := cmp.Or(o.Price.Amount, o.listedPrice)
	if price == 0 {
		return ""
	}
	words := " at " + units.FormatPrice(price, o.Price.Currency)
	if o.DiffersByHour() {
		words += " (" + o.ByHour.String() + ")"
	}
	return words
}

// HoursOfYear is the hours of a year of 365.25 days.
const HoursOfYear = 8766

// own sets the price of an accelerator that was bought: its purchase price over the hours of its
// years, and what it draws at the price of electricity.
func (o *Offer) own(doc *strict.Document, field string) error {
	if o.RentedOn() != Owned {
		return nil
	}
	if o.Price.Amount != 0 {
		return doc.Problem(field+".price", "the price of an owned accelerator follows from "+
			"purchase, years, draw and electricity; leave price out")
	}
	if o.Electricity.Currency != o.Purchase.Currency {
		return doc.Problem(field+".electricity", "the price is in %s, and that of purchase in %s; "+
			"convert one of them", o.Electricity.Currency.Code(), o.Purchase.Currency.Code())
	}
	o.Price = scenarios.Price{Currency: o.Purchase.Currency,
		Amount: float64(o.Purchase.Amount/(o.Years*HoursOfYear)) +
			float64(float64(o.Draw)/1000*o.Electricity.Amount)}
	return nil
}

// PriceSource says where the price of an offer is from; it is empty where that is the catalogue.
func (o *Offer) PriceSource() string {
	source := o.Source
	switch {
	case o.RentedOn() == Owned:
		c, number := o.Purchase.Currency, func(x float64) string { return fmt.Sprintf("%g", x) }
		source = strings.TrimPrefix(fmt.Sprintf("%s, bought for %s, over %g years, and %s at "+
			"%s/kWh", o.Source, c.Format(number(o.Purchase.Amount)), o.Years,
			units.FormatPower(float64(o.Draw)), c.Format(number(o.Electricity.Amount))), ", ")
	case o.Source == "" && o.Price.Amount > 0:
		source = "given without a source"
	}
	source += o.exchanged
	if o.DiffersByHour() {
		source += ", times its multiple by hour (" + o.ByHour.String() + ")"
	}
	return source
}
