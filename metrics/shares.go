package metrics

// KVShares divides KV memory by its content. Each field is the mean over samples, evenly spaced in
// time, of a share of the whole memory (Kwon et al., SOSP 2023, figure 2). The shares sum to 1, or
// all are 0 if the memory policy cannot report them.
type KVShares struct {
	// Tokens is the share that holds the KV of tokens. Reserved is kept for tokens that a running
	// request will store, and Internal for tokens that it will never store. External is free, or in
	// holes that are too small to use.
	Tokens   float64 `json:"kv_tokens_share"`
	Reserved float64 `json:"kv_reserved_share"`
	Internal float64 `json:"kv_internal_share"`
	External float64 `json:"kv_external_share"`
}

// sharesOf returns the means over the points, which are evenly spaced.
func sharesOf(points []Point) KVShares {
	var sum KVShares
	for i := range points {
		d := &points[i].Slots
		all := float64(d.Tokens + d.Reserved + d.Internal + d.External)
		sum.Tokens += ratio(float64(d.Tokens), all)
		sum.Reserved += ratio(float64(d.Reserved), all)
		sum.Internal += ratio(float64(d.Internal), all)
		sum.External += ratio(float64(d.External), all)
	}
	n := float64(len(points))
	return KVShares{ratio(sum.Tokens, n), ratio(sum.Reserved, n), ratio(sum.Internal, n),
		ratio(sum.External, n)}
}

func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}
