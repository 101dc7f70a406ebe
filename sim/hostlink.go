package sim

// hostLink is the host memory of a replica, where swapped-out KV caches wait, and the link to it.
type hostLink struct {
	time  Footprint[Time] // of a KV cache on the link, in either direction
	parts Time            // the number of parts in which a transfer comes, at least 1
	room  int64           // tokens for which host memory still has room
	free  Time            // when the link is through with all transfers so far
}

// transfers are the transfers from and to host memory for which a step waits.
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
