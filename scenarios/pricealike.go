package scenarios

import "slices"

// PriceAlike gives results that are shown beside each other one denominator of prices: the
// offered rate if each of them is priced at it, and otherwise each result's whole run. At equal
// flows of tokens, prices are then in the proportion of the prices of an hour.
func PriceAlike(results ...*Result) {
	over := make([]string, len(results))
	for i, r := range results {
		over[i] = r.PricedOver
	}
	if PricedApart(over) {
		for _, r := range results {
			r.PriceWholeRun()
		}
	}
}

// PricedApart reports whether results whose Result.PricedOver is given have different denominators
// of prices. A result without answers has no prices.
func PricedApart(over []string) bool {
	return slices.Contains(over, OfferedRate) && slices.Contains(over, wholeRun)
}

// PriceWholeRun computes the prices of a result over its whole run.
func (r *Result) PriceWholeRun() { r.take(r.WholeRun) }
