package sim

// ReplicaResult is the work that one replica did.
type ReplicaResult struct {
	Completed, Rejected, Preemptions int64
	// HandedOver is the number of requests that were handed over to another replica.
	HandedOver int64
	// Up is the time during which the replica was on: from each start until it was switched off,
	// until it failed, or until the end. Failed is the time after failures until the replica came
	// back or the end came. A replica that failed while it drained counts as switched off.
	Up, Failed Time
	// Busy is the time during which steps ran, a step in several pipeline stages counted once.
	Busy Time
	// Steps is the number of steps.
	Steps int64
	// PrefillTokens and DecodeTokens are the tokens that went through the linear layers; work
	// repeated after a preemption counts again.
	PrefillTokens, DecodeTokens int64
	// Sampled is the number of tokens that came out.
	Sampled int64
	// Drafted is the number of drafted tokens, and Accepted the number of them that were accepted.
	// Drafting is the part of Busy spent on drafts.
	Drafted, Accepted int64
	Drafting          Time
	// PaddingTokens is the number of padding tokens that static batches computed, in addition to
	// the tokens above.
	PaddingTokens int64
	// SwappedTokens is the number of tokens whose KV went over the link to host memory, in both
	// directions together.
	SwappedTokens int64
	// Admitted is the number of requests that were first scheduled at the replica, AdmittedTokens
	// the number of their prompt tokens, and CachedTokens the number of these that the prefix cache
	// supplied then. A request counts once, also if it is preempted, handed over or retried.
	Admitted, AdmittedTokens, CachedTokens int64
	// FetchedTokens is the number of tokens that came from slower memory. Tokens that a preempted
	// request fetches again count again.
	FetchedTokens int64
	// Fetching is the time for which fetched tokens, and what came with them, kept the link to host
	// memory busy.
	Fetching Time
	// PoolReadBytes and PoolWrittenBytes are the sizes of the KV caches that were asked of a pool
	// and sent to it.
	PoolReadBytes, PoolWrittenBytes int64
	// PrefetchedBytes is the size of the KV caches that were asked of the replica's own disk before
	// their requests were queued.
	PrefetchedBytes int64
	// KVCapacity is the size of the KV memory, and KVPeak the most of it that was in use at any
	// time, both in the memory's units.
	KVCapacity, KVPeak int64
	// KVIntegral is the integral over the time from 0 to Result.End of the units in use. It is
	// exact: each step of a leap takes its memory when it begins.
	KVIntegral Sum
	// PrefillPairs is the number of (query, key) pairs of prefill attention, DecodeContext the
	// number of pairs of decode attention.
	PrefillPairs, DecodeContext int64
}
