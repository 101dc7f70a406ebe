package scenarios

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
)

// The denominators of prices, in words.
const (
	// OfferedRate is of runs that keep up with their load.
	OfferedRate = "at the offered rate"
	wholeRun    = "over the whole run with its drain"
)

// Prices holds the figures of money that have a denominator: the price of a million output tokens
// and of a session, and the worth of the tokens of an hour. Over names the denominator.
type Prices struct {
	PerMillion, PerSession float64
	Sold                   *TokenRevenue
	Over                   string
}

// price computes the prices of a run at a flow of output tokens a second; cost is the price of the
// fleet for the run.
func price(s *metrics.Summary, tokens *TokenPrices, cost, flow float64, over string) Prices {
	if s.TotalOutputTokens == 0 || s.Duration == 0 {
		return Prices{}
	}
	second := cost / s.Duration
	p := Prices{PerMillion: second / flow * 1e6, Over: over,
		Sold: tokens.Revenue(CountTokens(s), flow*3600/1e6, second*3600)}
	if s.Sessions != nil {
		p.PerSession = p.PerMillion * s.Sessions.Output / 1e6
	}
	return p
}

// prices computes the prices of a run over the whole of it, and those to show: at the offered rate
// and the mean length of answers if the system keeps up, so that they do not depend on the random
// requests.
func prices(s *metrics.Summary, tokens *TokenPrices, cost float64, load LoadState,
	offered float64) (whole, shown Prices) {
	whole = price(s, tokens, cost, float64(s.TotalOutputTokens)/s.Duration, wholeRun)
	if load == KeepsUp && s.Completed == s.Sent() && offered > 0 {
		return whole, price(s, tokens, cost, offered, OfferedRate)
	}
	return whole, whole
}

// TokenCosts says what tokens cost the fleet: its price, divided among the tokens of completed
// requests by the time and the KV memory that they took. Prices are of a million, in the
// currency of the result. The prices times the numbers of tokens add up to the price of the fleet.
//
// A part of the price goes by time, the others by memory, in the proportion of the share of the
// time in which steps ran to the mean share of the KV memory in use. By time, prompt tokens that
// are computed pay for steps with prompts, less what their decoding would take alone; output tokens
// pay for decoding; and cached prompt tokens pay for the time in which KV came from lower tiers. By
// memory, prompt tokens pay for the time from the request's first step to its last token, and
// output tokens for half the time from the first token to the last. Tokens that requests share pay
// once for each of them.
type TokenCosts struct {
	Input  float64 `json:"input_dollars_per_million,omitzero" jsonschema:"price of prompt tokens that are computed; of completed requests"`
	Cached float64 `json:"cached_input_dollars_per_million,omitzero" jsonschema:"price of prompt tokens from a prefix cache; of completed requests"`
	Output float64 `json:"output_dollars_per_million,omitzero" jsonschema:"price of output tokens; of completed requests"`
	// TimeShare is the part of the price that goes by time.
	TimeShare float64 `json:"time_share" jsonschema:"part of the price that goes by time; of the run"`
}

// pay holds what the kinds of tokens pay: parts of any unit.
type pay struct{ input, cached, output float64 }

func (p pay) sum() float64 { return p.input + p.cached + p.output }

// tokenCosts divides the price of the fleet; nil if it is not known, or nothing is to pay for it.
func (f *finished) tokenCosts(cost float64, pools []PoolResult) *TokenCosts {
	s := &f.summary
	if cost == 0 || s.Completed == 0 || s.Busy+s.KVUsage == 0 {
		return nil
	}
	counts := CountTokens(s)
	time, held := f.tokenTimes(pools), pay{s.KVHeld.Input, s.KVHeld.Cached, s.KVHeld.Output}
	if counts.Cached == 0 {
		time.input += time.cached
		time.cached = 0
	}
	c := &TokenCosts{TimeShare: s.Busy / (s.Busy + s.KVUsage)}
	if held.sum() == 0 {
		c.TimeShare = 1
	}
	price := func(byTime, byMemory float64, tokens int64) float64 {
		if tokens == 0 {
			return 0
		}
		part := float64(c.TimeShare * byTime / time.sum())
		if byMemory > 0 {
			part += float64((1 - c.TimeShare) * byMemory / held.sum())
		}
		return cost * part / float64(tokens) * 1e6
	}
	c.Input = price(time.input, held.input, counts.Input-counts.Cached)
	c.Cached = price(time.cached, held.cached, counts.Cached)
	c.Output = price(time.output, held.output, counts.Output)
	return c
}

// tokenTimes returns the time of steps and of links that each kind of token takes, weighted by the
// prices of replicas.
func (f *finished) tokenTimes(pools []PoolResult) (sum pay) {
	for i := range f.pools {
		p, m := &f.pools[i], &f.work.meters[i]
		weight := pools[i].Cost / float64(p.size)
		fetching := 0.0
		for k := range p.size {
			fetching += f.outcome.Replicas[p.first+k].Fetching.Seconds()
		}
		sum.input += float64(weight * m.prompts.Seconds())
		sum.cached += float64(weight * fetching)
		sum.output += float64(weight * m.decoding.Seconds())
	}
	return sum
}

// TokenCounts holds the numbers of tokens of completed requests. No user pays for other requests.
type TokenCounts struct {
	// Input counts all tokens of prompts, and Cached the ones that came from a prefix cache.
	Input  int64 `json:"input"`
	Cached int64 `json:"cached_input"`
	Output int64 `json:"output"`
}

// CountTokens counts the tokens of the requests that were completed.
func CountTokens(s *metrics.Summary) TokenCounts {
	return TokenCounts{Input: s.TotalInputTokens, Cached: s.CachedTokens,
		Output: s.TotalOutputTokens}
}

// TokenRevenue is the worth of the tokens of an hour.
type TokenRevenue struct {
	// Input, Cached and Output are millions of tokens an hour; Input leaves out the cached ones.
	Input  float64 `json:"input_millions_per_hour" jsonschema:"prompt tokens that are computed; of completed requests"`
	Cached float64 `json:"cached_input_millions_per_hour" jsonschema:"prompt tokens from a prefix cache; of completed requests"`
	Output float64 `json:"output_millions_per_hour" jsonschema:"output tokens; of completed requests"`
	// InputDollars, CachedDollars and OutputDollars are the worth of these tokens an hour, and
	// Hourly is their sum, in the currency of the result.
	InputDollars  float64 `json:"input_dollars_per_hour" jsonschema:"worth of prompt tokens that are computed; of completed requests"`
	CachedDollars float64 `json:"cached_input_dollars_per_hour" jsonschema:"worth of prompt tokens from a prefix cache; of completed requests"`
	OutputDollars float64 `json:"output_dollars_per_hour" jsonschema:"worth of output tokens; of completed requests"`
	Hourly        float64 `json:"dollars_per_hour"`
	// Margin is Hourly less the price of the fleet; nil if that price is not known.
	Margin *float64 `json:"margin_dollars_per_hour,omitempty"`
}

// Revenue computes the worth of the tokens that a fleet serves in an hour, with output millions of
// tokens in answers. The counts give the ratio of prompt tokens and cached tokens to output tokens.
// fleet is the price of the fleet an hour; 0 means that it is not known. Revenue
// returns nil without prices of tokens, or without answers.
func (p *TokenPrices) Revenue(c TokenCounts, output, fleet float64) *TokenRevenue {
	if p == nil || c.Output == 0 {
		return nil
	}
	each := output / float64(c.Output)
	s := &TokenRevenue{Input: float64(each * float64(c.Input-c.Cached)),
		Cached: float64(each * float64(c.Cached)), Output: output}
	s.InputDollars = float64(s.Input * p.Input.Amount)
	s.CachedDollars = float64(s.Cached * p.complete().Cached.Amount)
	s.OutputDollars = float64(s.Output * p.Output.Amount)
	s.Hourly = s.InputDollars + s.CachedDollars + s.OutputDollars
	if fleet > 0 {
		margin := s.Hourly - fleet
		s.Margin = &margin
	}
	return s
}

// amount is a price of a scenario that is not 0, and its field.
type amount struct {
	field string
	money Money
}

// amounts lists the prices of a scenario.
func (s *Scenario) amounts() []amount {
	list := []amount{{"hardware.price", Money(s.Hardware.Price)}}
	list = append(list, s.Memory.amounts("memory.")...)
	for i := range s.Fleet.Pools {
		p, field := &s.Fleet.Pools[i], fmt.Sprintf("fleet.pools.%d.", i)
		list = append(list, amount{field + "hardware.price", Money(p.Hardware.Price)})
		list = append(list, p.Memory.amounts(field+"memory.")...)
	}
	list = append(list, s.Tokens.amounts()...)
	return slices.DeleteFunc(list, func(a amount) bool { return a.money.Amount == 0 })
}

// amounts lists the prices of a memory and its tiers, whose fields begin as given.
func (m *KVMemory) amounts(field string) []amount {
	list := []amount{{field + "price", Money(m.Price)}, {field + "disk-price", Money(m.DiskPrice)},
		{field + "pool-price", Money(m.PoolPrice)}}
	for i := range m.Tiers {
		if price, err := m.Tiers[i].Hourly(); err == nil { // else it is refused where it is taken
			list = append(list, amount{fmt.Sprintf("%stiers.%d.price", field, i), Money(price)})
		}
	}
	return list
}

// amounts lists prices of tokens, if there are any.
func (p *TokenPrices) amounts() []amount {
	if p == nil {
		return nil
	}
	list := []amount{{"tokens.input", Money(p.Input)}, {"tokens.output", Money(p.Output)}}
	if p.Cached != nil {
		list = append(list, amount{"tokens.cached-input", Money(*p.Cached)})
	}
	return list
}

// Currency returns the currency of the prices of a scenario that was built, which have only one.
func (s *Scenario) Currency() units.Currency {
	for _, a := range s.amounts() {
		return a.money.Currency
	}
	return ""
}

// checkCurrency refuses prices in several currencies: amounts in two of them cannot be added, and
// no rate of exchange is known. Prices of the catalogue are in US dollars.
func (r *resolved) checkCurrency(s *Scenario, pools []pool) {
	list := s.amounts()
	for i := range pools {
		p := &pools[i]
		if p.draftAccelerators() > 0 && p.drafting.accelerator.Price > 0 {
			list = append(list, amount{"speculation.accelerator",
				Money{Amount: p.drafting.accelerator.Price}})
		}
	}
	for _, a := range list {
		first := list[0]
		if a.money.Currency == first.money.Currency {
			continue
		}
		r.problem(a.field, "the price is in %s, and that of %s in %s; a run has one currency, so "+
			"convert one of them (prices of the catalogue are in USD)", a.money.Currency.Code(),
			first.field, first.money.Currency.Code())
		return
	}
}
