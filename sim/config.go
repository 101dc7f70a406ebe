package sim

// Config describes a simulation: its requests, its replicas and its observers.
type Config struct {
	// Source yields the requests. It is nil if all requests are pushed from outside with
	// Simulation.Push.
	Source Source
	// Router picks a replica for each request.
	Router Router
	// Handover picks the decode replica for each prompt that a prefill replica has computed. It is
	// required if there are prefill replicas.
	Handover Router
	// Replicas lists the servers, at least one.
	Replicas []ReplicaConfig
	// Links carry KV caches from prefill replicas to decode replicas, see ReplicaConfig.Link.
	Links []Link
	// Wires are the bandwidths, in byte/s and above 0, of what connects replicas with disks and
	// pools of KV caches. The transfers on a wire share it max-min fairly. See Disk and Pooling.
	Wires []float64
	// Announce is the time, from 0, before its arrival at which a request that goes on with a
	// session is known to the fleet, if it follows from nothing later. It is admitted and routed
	// then, what disks and pools have of its prompt comes, and it is queued when it arrives.
	Announce Time
	// Encoders encode the images and sounds of requests before these go to a replica; nil where
	// replicas do so.
	Encoders *Encoders
	// Admission may refuse requests on arrival; nil admits all.
	Admission Admission
	// QueueTimeout is the longest time from the arrival of a request to its first step. A request
	// that waits longer is ended. 0 means no limit.
	QueueTimeout Time
	// Outages are failures of replicas, and Retry says what happens to the requests of a replica
	// that fails.
	Outages []Outage
	Retry   Retry
	// Scalings start and stop replicas, at most one for a pool.
	Scalings []Scaling
	// Observer is told what happens. It is nil if only the Result matters.
	Observer Observer
	// Sent, if it is set, is called when a KV cache is sent to a decode replica, in the order in
	// which a link sends them.
	Sent func(t Transfer)
	// Tokens, if it is set, is called when n tokens of a sequence have come out. They came out at
	// the given time or, where steps were leapt, one after another up to that time. Answers of
	// static batches come out as a whole. A request that began anew after a failure repeats its
	// tokens. s.Progress returns the number of its tokens.
	Tokens func(s *Sequence, n int, at Time)
	// Classes and Tenants are the numbers of classes and of tenants whose requests Result.Classes
	// and Result.Tenants count apart; 0 means that Result has no such list. The last tenant also
	// has the requests of tenants with higher numbers.
	Classes, Tenants int
	// SampleEvery is the time between state samples; 0 means no samples.
	SampleEvery Time
	// MaxLeap bounds the steps taken at once; 0 means no bound, 1 steps through every token. The
	// result is the same.
	MaxLeap int64
	// Apart, if it is set, lets Run take each replica through a stretch of time by itself, as long
	// as replicas do not depend on each other: the source is an OpenLoop, the router a BlindRouter,
	// and neither admission, timeouts, failures, scaling, hand-overs, encoders, disks, pools of KV
	// caches nor announcements are configured. Apart must call task for each number from 0 to n−1,
	// may do so at the same time, and returns when all have returned. The result is the same, and
	// the Observer is told the same in the same order, from one goroutine at a time. But it is told
	// later, so that it must not read what changes in the sequences of prompt chunks.
	Apart func(n int, task func(int))
}

// Router picks the replica that serves a request.
type Router interface {
	// Route returns the index of a replica that accepts requests, from the pool or one of its
	// siblings. The pool has at least one such replica.
	Route(r *Request, pool *Pool) int
}

// Admission decides which requests are served.
type Admission interface {
	// Admit reports whether r, which arrives for the pool, is admitted.
	Admit(r *Request, pool *Pool) bool
}

// Result holds the figures of a run that need no Observer.
type Result struct {
	// Each request ends in exactly one way, so that at the end of a run Arrived = Completed +
	// Rejected + TimedOut + Cancelled + Lost.
	Arrived, Completed, Rejected, TimedOut, Cancelled, Lost int64
	// Retries counts the times that a request began anew after a failure.
	Retries int64
	// Ended is the time at which the last request ended for its user, with an answer or without.
	Ended Time
	// End is when the run ended: at Ended or, if that is later, when the time was over for which
	// the source was asked for requests (Timed). Before that, it is the present. Every rate, cost,
	// share and mean of a state is taken from time 0 to End.
	End Time
	// Load is of all requests. Classes and Tenants hold the loads by Request.Class and
	// Request.Tenant, as far as Config counts them apart, and Sets those by ReplicaConfig.Set, of
	// requests at replicas only; Sets is empty if there is one set.
	Load                   Load
	Classes, Tenants, Sets []Load
	// Encoding is the time for which Config.Encoders worked, summed over them.
	Encoding Time
	// Replicas has one entry a replica.
	Replicas []ReplicaResult
	// Links has one entry a link.
	Links []LinkResult
}

// Outage is a failure of a replica. The replica loses all that it holds, and accepts no requests
// for a while.
type Outage struct {
	// Replica is its index.
	Replica int
	// At is when the outage begins, and For how long it lasts. Never means that the replica does
	// not come back. An outage has no effect if the replica does not run, or if another outage is
	// under way.
	At, For Time
}

// Retry says what happens to the requests of a replica that fails.
type Retry struct {
	// Attempts bounds how often a request may begin anew on another replica. 0 means that the
	// request is lost at once.
	Attempts int
	// Delay is the time until the request arrives at the other replica.
	Delay Time
}

// Scaler decides how many replicas a pool has.
type Scaler interface {
	// Replicas returns the number of replicas of the pool that should be running or starting. The
	// simulator bounds it by Scaling.Min and by the size of the pool.
	Replicas(p *Pool) int
}

// Scaling lets a Scaler start and stop the replicas of a pool.
type Scaling struct {
	// Model, Role and MaxPrompt name the pool.
	Model     int
	Role      Role
	MaxPrompt int
	// Scaler is asked again each time the span Every has passed.
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

// LinkResult counts the traffic of a link.
type LinkResult struct {
	// Transfers is the number of KV caches that were sent, and Bytes their size in byte.
	Transfers, Bytes int64
	// Busy is the time during which the link was taken.
	Busy Time
	// Visible is the time from the end of the prefill to the arrival of the KV cache, summed over
	// the transfers. It covers the part of the transfer that did not overlap with the prefill, and
	// the wait for the link.
	Visible Time
}
