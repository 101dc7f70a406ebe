package sim

// Config is a simulation: who asks, who serves, and who watches.
type Config struct {
	// Source yields the requests; nil where all are pushed from outside, see Simulation.Push.
	Source Source
	// Router picks a replica for each.
	Router Router
	// Handover picks the replica that decodes what a prefill replica has computed; needed where
	// there are any.
	Handover Router
	// Replicas lists the servers, at least one.
	Replicas []ReplicaConfig
	// Links carry KV caches from prefill replicas to decode replicas, see ReplicaConfig.Link.
	Links []Link
	// Admission may turn requests away on arrival; nil takes all.
	Admission Admission
	// QueueTimeout ends requests that have not begun to run so long after their arrival; 0 means
	// none.
	QueueTimeout Time
	// Outages are failures of replicas, Retry says what becomes of their requests.
	Outages []Outage
	Retry   Retry
	// Scalings start and stop replicas, at most one for a pool.
	Scalings []Scaling
	// Observer watches; nil where only the Result matters.
	Observer Observer
	// Tokens, where it is set, is called for each sequence to which tokens came out: n at the given
	// time, or one after another up to then where steps were leapt. Answers of static batches come
	// out as a whole. A request that began anew after a failure repeats its tokens; s.Progress
	// returns how many it has.
	Tokens func(s *Sequence, n int, at Time)
	// SampleEvery is the time between state samples; 0 means none.
	SampleEvery Time
	// MaxLeap bounds the steps taken at once; 0 means no bound, 1 steps through every token. The
	// result is the same.
	MaxLeap int64
}

// Router picks the replica that serves a request.
type Router interface {
	// Route returns the index of a replica that takes requests, of the pool or one of its siblings.
	// The pool has one at least.
	Route(r *Request, pool *Pool) int
}

// Admission decides who is served.
type Admission interface {
	// Admit reports whether r, which arrives for the pool, is let in.
	Admit(r *Request, pool *Pool) bool
}

// Result is what can be counted without an Observer.
type Result struct {
	// Arrived = Completed + Rejected + TimedOut + Cancelled + Lost: each request ends in one way.
	Arrived, Completed, Rejected, TimedOut, Cancelled, Lost int64
	// Retries is how often a request began anew after a failure.
	Retries int64
	// End is the time at which the last request ended, with an answer or without.
	End Time
	// Replicas has one entry a replica.
	Replicas []ReplicaResult
	// Links has one entry a link.
	Links []LinkResult
}

// Outage is a failure of a replica: what it holds is gone, and it takes no requests for a while.
type Outage struct {
	// Replica is its index.
	Replica int
	// At is when it begins, For how long it lasts; Never means that the replica does not come back.
	// Where the replica does not run, or another outage is under way, nothing happens.
	At, For Time
}

// Retry says what becomes of the requests of a replica that fails.
type Retry struct {
	// Attempts is how often a request is sent to another replica, to begin anew; 0 means that it is
	// lost at once.
	Attempts int
	// Delay passes before.
	Delay Time
}

// Scaler decides how many replicas a pool has.
type Scaler interface {
	// Replicas returns how many should run or be starting. Numbers out of range are bounded.
	Replicas(p *Pool) int
}

// Scaling lets a Scaler start and stop the replicas of a pool.
type Scaling struct {
	// Model and Role name the pool.
	Model int
	Role  Role
	// Scaler is asked after each span of Every.
	Scaler Scaler
	Every  Time
	// Min is the least number of replicas.
	Min int
}

// Link carries KV caches from prefill replicas to decode replicas, one after another.
type Link struct {
	// Bandwidth is in byte/s, above 0.
	Bandwidth float64
	// Latency is added to each transfer; it does not occupy the link.
	Latency Time
}

// LinkResult is what a link carried.
type LinkResult struct {
	// Transfers and Bytes were carried.
	Transfers, Bytes int64
	// Busy is the time during which the link was taken.
	Busy Time
	// Visible is the sum over the transfers of the time from the end of the prefill to the arrival
	// of the KV cache: the part that did not overlap with the prefill, and waiting for the link.
	Visible Time
}
