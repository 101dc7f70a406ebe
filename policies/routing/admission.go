package routing

import (
	"fmt"

	"github.com/llmsim/llmsim/sim"
)

// QueueLimit refuses requests while the pool has too many unfinished requests.
type QueueLimit struct{ perReplica int }

// NewQueueLimit returns the admission policy. The limit of a pool is perReplica unfinished
// requests, at least 1, for each replica that accepts requests.
func NewQueueLimit(perReplica int) (QueueLimit, error) {
	if perReplica < 1 {
		return QueueLimit{}, fmt.Errorf("per-replica is %d requests, want at least 1", perReplica)
	}
	return QueueLimit{perReplica}, nil
}

// Admit implements sim.Admission.
func (q QueueLimit) Admit(_ *sim.Request, pool *sim.Pool) bool {
	return pool.Outstanding() < q.perReplica*max(1, pool.Len())
}

// RateLimit gives each tenant a token bucket (Turner, IEEE Communications Magazine 24(10), 1986).
// Each request takes one token, and is refused while the bucket is empty.
type RateLimit struct {
	rate    float64  // tokens a second that a bucket gets, above 0
	burst   float64  // tokens that a bucket holds, at least 1
	buckets []bucket // by tenant
}

// bucket is the token bucket of a tenant, which is full before its first request.

type bucket struct {
	level   float64  // tokens at the time at, 0 <= level <= burst
	at      sim.Time // of the tenant's last request
	started bool     // there was one
}

// NewRateLimit returns the admission policy for a rate in requests a second, above 0, and buckets
// that hold burst, at least 1.
func NewRateLimit(rate, burst float64) (*RateLimit, error) {
	if !(rate > 0) || !(burst >= 1) {
		return nil, fmt.Errorf("rate is %g a second and burst %g, want more than 0, and at least 1",
			rate, burst)
	}
	return &RateLimit{rate: rate, burst: burst}, nil
}

// Admit implements sim.Admission.
func (l *RateLimit) Admit(r *sim.Request, pool *sim.Pool) bool {
	for len(l.buckets) <= r.Tenant {
		l.buckets = append(l.buckets, bucket{})
	}
	b, now := &l.buckets[r.Tenant], pool.Now()
	if !b.started {
		b.level, b.started = l.burst, true
	}
	b.level = min(l.burst, b.level+l.rate*(now-b.at).Seconds())
	b.at = now
	if b.level < 1 {
		return false
	}
	b.level--
	return true
}
