package metrics

import "github.com/llmsim/llmsim/sim"

// KVShares divides KV memory by its content (Kwon et al., SOSP 2023, figure 2), summed up over
// samples that are evenly spaced in time: each visits all running sequences, which an exact
// integral would have to do at each event. They are shares of the memory whose policy reports its
// content, and sum to 1; all are 0 if no policy does.
type KVShares struct {
	// Tokens is the share that holds the KV of tokens. Reserved is kept for tokens that a running
	// request will store, and Internal for tokens that it will never store. External is free, or in
	// holes that are too small to use.
	Tokens   float64 `json:"kv_tokens_share"`
	Reserved float64 `json:"kv_reserved_share"`
	Internal float64 `json:"kv_internal_share"`
	External float64 `json:"kv_external_share"`
}

// sharesOf returns the shares over the points, which are evenly spaced.
func sharesOf(points []Point) KVShares {
	var d sim.Slots
	for i := range points {
		d.Add(points[i].Slots)
	}
	all := float64(d.Tokens + d.Reserved + d.Internal + d.External)
	return KVShares{ratio(float64(d.Tokens), all), ratio(float64(d.Reserved), all),
		ratio(float64(d.Internal), all), ratio(float64(d.External), all)}
}

func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}
