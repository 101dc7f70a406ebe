package sim

// Transfer is the move of the KV cache of a request over a link.
type Transfer struct {
	// Link is the number of the link, ID the number of the request.
	Link  int
	ID    int64
	Bytes int64
	// From is when the first layer is sent, and To when the link is free for the next transfer. All
	// has arrived at Arrived, which the last layer and the latency of the link may delay: From < To
	// <= Arrived.
	From, To, Arrived Time
}
