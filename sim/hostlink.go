package sim

// hostLink is the host memory of a replica, where swapped-out KV caches wait, and the link to it.
type hostLink struct {
	time  Footprint[Time] // of a KV cache on the link, in either direction
	parts Time            // the number of parts in which a transfer comes, at least 1
	// room is the number of tokens for which host memory still has room, at least 0: HostMemory.
	// Tokens less Sequence.Swapped of the sequences that were swapped out here.
	room int64
	free Time // when the link is through with all transfers so far; falls only in abort
}

// transfers are the transfers from and to host memory for which the next step of a batch waits.
// plan sets busy to 0, abort sets ready to 0, and add alone raises them.
type transfers struct {
	ready Time // when they are through
	busy  Time // how long they take the link together
}

// add takes the link for a time, as soon as it is free.
func (t *transfers) add(busy Time, link *hostLink, now Time) {
	link.free = max(link.free, now) + busy
	t.ready = link.free
	t.busy += busy
}
