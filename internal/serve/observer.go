package serve

import (
	"time"

	"github.com/llmsim/llmsim/internal/telemetry"
	"github.com/llmsim/llmsim/sim"
)

// tokens is called by the simulation when tokens came out.
func (f *Fleet) tokens(s *sim.Sequence, count int, at sim.Time) {
	j := f.jobs[s.ID]
	if j == nil {
		return
	}
	n := update{tokens: s.Progress(), cached: s.Cached, first: s.Progress() == count}
	if x := f.config.Executor; x != nil {
		n.text, n.logprobs = j.generated, j.logprobs
		n.tokens = len(n.text)
		j.seen = *s
		j.seen.LastToken = at
		if last := n.tokens - 1; last >= 0 && x.ends(n.text[last]) && !j.IgnoreEnd {
			n.tokens, n.ended, n.stopped = last, true, true
			f.Stop(j)
		}
	}
	f.delayed.add(f.seen(j, at, s.Latency), j, n)
}

// seen returns when the user of j sees what came out at a time. The front end of the simulated
// server takes latency; what reading the request took for real is a part of it.
func (f *Fleet) seen(j *Job, at, latency sim.Time) time.Time {
	earliest := f.momentOf(at)
	if seen := f.momentOf(at + latency).Add(-j.reading); seen.After(earliest) {
		return seen
	}
	return earliest
}

// Finished implements sim.Observer.
func (f *Fleet) Finished(s *sim.Sequence) {
	if j := f.forget(s.ID); j != nil {
		f.delayed.add(f.seen(j, s.LastToken, s.Latency), j,
			update{tokens: s.Output, cached: s.Cached, text: j.generated, logprobs: j.logprobs,
				ended: true})
	}
}

// Rejected implements sim.Observer.
func (f *Fleet) Rejected(r *sim.Request, why sim.Rejection) {
	if j := f.forget(r.ID); j != nil {
		j.fail(why)
	}
}

// Steps implements sim.Observer.
func (f *Fleet) Steps(*sim.Leap) {}

// Sampled implements sim.Observer.
func (f *Fleet) Sampled(_ sim.Time, replica int, s sim.State) { f.setUp(replica, s.Up) }

// forget returns the job of a request that has ended, and drops it.
func (f *Fleet) forget(id int64) *Job {
	j := f.jobs[id]
	if j != nil {
		delete(f.jobs, id)
		delete(f.ids, j)
		f.pins.unpin(id)
	}
	if x := f.config.Executor; x != nil {
		x.release(id)
	}
	return j
}

// parameters returns what was asked for beside the prompt of a request that ends.
func (f *Fleet) parameters(r *sim.Request) telemetry.Parameters {
	if j := f.jobs[r.ID]; j != nil {
		j.Asked.Complete = j.complete
		return j.Asked
	}
	return telemetry.Parameters{N: 1}
}
