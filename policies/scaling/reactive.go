// Package scaling holds the policies that decide how many replicas a pool has, and how long one
// takes to start.
package scaling

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/sim"
)

// Outstanding keeps the number of unfinished requests for each replica near a target, as Knative
// does with concurrency. It adds replicas at once, and removes only replicas that were not needed
// for a while.
type Outstanding struct {
	target float64
	hold   hold
}

// NewOutstanding returns the scaler for a target above 0. Replicas that are not needed stay for
// keep.
func NewOutstanding(target float64, keep sim.Time) (*Outstanding, error) {
	if !(target > 0) || math.IsInf(target, 1) {
		return nil, fmt.Errorf("target is %g requests a replica, want more than 0", target)
	}
	return &Outstanding{target, hold{keep: keep}}, nil
}

// Replicas implements sim.Scaler.
func (o *Outstanding) Replicas(p *sim.Pool) int {
	return o.hold.most(p.Now(), atLeast(float64(p.Outstanding())/o.target))
}

// Queue adds a replica for every PerReplica requests that wait for a place in a batch, and removes
// one when no request waits.
type Queue struct {
	perReplica float64
	hold       hold
}

// NewQueue returns the scaler. perReplica is the number of waiting requests, above 0, for which it
// adds a replica. Replicas that are not needed stay for keep.
func NewQueue(perReplica float64, keep sim.Time) (*Queue, error) {
	if !(perReplica > 0) || math.IsInf(perReplica, 1) {
		return nil, fmt.Errorf("per-replica is %g waiting requests, want more than 0", perReplica)
	}
	return &Queue{perReplica, hold{keep: keep}}, nil
}

// Replicas implements sim.Scaler.
func (q *Queue) Replicas(p *sim.Pool) int {
	waiting := p.Waiting()
	want := p.Running() - 1
	if waiting > 0 {
		want = p.Running() + atLeast(float64(waiting)/q.perReplica)
	}
	return q.hold.most(p.Now(), want)
}

// Utilization keeps the share of time in which steps run near a target (the rule of Kubernetes'
// horizontal pod autoscaler: desired = ceil(current × metric / target)). Engines that batch are
// busy even at a low load, so other signals say more.
type Utilization struct {
	target float64 // share of time in which steps run
	hold   hold
	busy   sim.Time // Pool.Busy at the last call
	at     sim.Time // of the last call
}

// NewUtilization returns the scaler for a target in (0, 1]. Replicas that are not needed stay for
// keep.
func NewUtilization(target float64, keep sim.Time) (*Utilization, error) {
	if !(target > 0 && target <= 1) {
		return nil, fmt.Errorf("target is %g of the time, want more than 0 and at most 1", target)
	}
	return &Utilization{target: target, hold: hold{keep: keep}}, nil
}

// Replicas implements sim.Scaler.
func (u *Utilization) Replicas(p *sim.Pool) int {
	busy, now := p.Busy(), p.Now()
	replicas := float64(busy-u.busy) / float64(now-u.at) // that would be busy all the time
	u.busy, u.at = busy, now
	return u.hold.most(now, atLeast(replicas/u.target))
}

// atLeast rounds up, except for an excess as small as a floating-point error.
func atLeast(replicas float64) int { return int(math.Ceil(replicas - 1e-9)) }

// hold remembers sizes for a while, so that a pool does not shrink in a short lull.
type hold struct {
	keep sim.Time // at least 0
	// past has sizes in the order of time, which fall strictly: an earlier one that is not larger
	// than a later one does not matter any more. most drops sizes that are older than keep.
	past []wanted
}

// wanted is a number of replicas that was wanted at a time.
type wanted struct {
	at       sim.Time
	replicas int
}

// most notes a size, and returns the largest size within the last span of keep.
func (h *hold) most(now sim.Time, replicas int) int {
	for n := len(h.past); n > 0 && h.past[n-1].replicas <= replicas; n-- {
		h.past = h.past[:n-1]
	}
	h.past = append(h.past, wanted{now, replicas})
	for h.past[0].at < now-h.keep {
		h.past = h.past[1:]
	}
	return h.past[0].replicas
}
