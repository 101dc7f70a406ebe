package metrics

// KVShares says what KV memory holds, as means over time of shares of all of it (Kwon et al., SOSP
// 2023, figure 2); 0 where the memory policy cannot tell. They sum to 1.
type KVShares struct {
	// Tokens hold the KV of a token; Reserved wait for one that a running request will store,
	// Internal for one that it never will; External are free, or in holes too small to use.
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
