package batching

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/sim"
)

// VTC is the scheduler of vLLM V1 with fairness between tenants (virtual token counter: Sheng et
// al., OSDI 2024, algorithm 2). The next request to start is one of the tenant that was served
// least. Service is counted in weighted input and output tokens. The counter of a tenant that comes
// back is lifted to the smallest counter of the tenants that wait, so that a tenant cannot save up
// unused service.
type VTC struct {
	Continuous
	tenants tenants
	joined  sim.PerSequence[joined]
}

// NewVTC returns the scheduler. An input token counts as inputWeight of service, and an output
// token as outputWeight; the paper uses 1 and 2.
func NewVTC(limits Limits, inputWeight, outputWeight float64) (*VTC, error) {
	if !(inputWeight >= 0 && outputWeight >= 0 && inputWeight+outputWeight > 0) {
		return nil, fmt.Errorf(
			"input-weight is %g and output-weight %g, want 0 or more, and one of them more than 0",
			inputWeight, outputWeight)
	}
	v := &VTC{tenants: tenants{inputWeight: inputWeight, outputWeight: outputWeight, next: -1,
		last: -1}}
	c, err := newContinuous(limits, &v.tenants)
	if err != nil {
		return nil, err
	}
	v.Continuous = *c
	return v, nil
}

// Schedule implements sim.Scheduler.
func (v *VTC) Schedule(b *sim.Batch) sim.Decision {
	v.tenants.lift()
	return v.Continuous.Schedule(b)
}

// Entered implements sim.Listener.
func (v *VTC) Entered(b *sim.Batch, s *sim.Sequence) {
	if s.Preemptions == 0 {
		v.tenants.of(s).input += int64(s.Prompt)
	}
}

// Joined implements sim.Listener.
func (v *VTC) Joined(b *sim.Batch, s *sim.Sequence) {
	t := v.tenants.of(s)
	t.output -= b.Steps() - 1
	t.join(b, 1)
	*v.joined.Of(s) = joined{decodes: true, ahead: int64(s.Progress()) - b.Steps()}
}

// Left implements sim.Listener. While s decoded, it counted as a token a step. Drafted tokens that
// were accepted are counted here.
func (v *VTC) Left(b *sim.Batch, s *sim.Sequence, _ bool) {
	v.tenants.next = -1
	if j := v.joined.Of(s); j.decodes {
		t := v.tenants.of(s)
		t.output += int64(s.Progress()) - j.ahead
		t.join(b, -1)
		*j = joined{}
	}
}

// joined says how many more tokens than the steps of its batch a sequence had when it began to
// decode. It is empty before and after.
type joined struct {
	decodes bool
	ahead   int64 // may be below 0
}

// tenants is the order of tenant by tenant, each with its requests in order of arrival.
type tenants struct {
	inputWeight, outputWeight float64 // of a token, at least 0, not both 0

	list    []tenant // by number
	waiting []int    // the tenants with requests that wait, in ascending order
	fresh   []int    // tenants that came to have such requests since lift, in order of arrival
	next    int      // whose request is first; −1 where that is not decided
	last    int      // who was the last to have requests that wait; −1 at the beginning
	n       int      // requests that wait: the sum of the lengths of tenant.queue
}

// tenant is a client and the service that it got.
type tenant struct {
	queue fifo
	// lifted is the number of weighted tokens by which the counter was lifted; input and output are
	// numbers of served tokens.
	lifted        float64
	input, output int64
	// lanes has its sequences that decode: each gives a token a step of its batch. output is less
	// the steps before.
	lanes []lane
}

// lane is a batch and a number of sequences that decode in it.
type lane struct {
	batch     *sim.Batch
	sequences int64
}

// join adds n sequences to the decoding sequences in b.
func (t *tenant) join(b *sim.Batch, n int64) {
	for len(t.lanes) <= b.Lane() {
		t.lanes = append(t.lanes, lane{})
	}
	l := &t.lanes[b.Lane()]
	l.batch = b
	l.sequences += n
}

// counter returns the service of tenant i so far.
func (ts *tenants) counter(i int) float64 {
	t := &ts.list[i]
	output := t.output
	for _, l := range t.lanes {
		if l.sequences > 0 {
			output += l.sequences * l.batch.Steps()
		}
	}
	return t.lifted + ts.inputWeight*float64(t.input) + ts.outputWeight*float64(output)
}

// of returns the tenant of s.
func (ts *tenants) of(s *sim.Sequence) *tenant {
	for len(ts.list) <= s.Tenant {
		ts.list = append(ts.list, tenant{})
	}
	return &ts.list[s.Tenant]
}

func (ts *tenants) add(s *sim.Sequence) {
	t := ts.of(s)
	if t.queue.len() == 0 {
		ts.insert(s.Tenant)
		if s.Preemptions == 0 {
			ts.fresh = append(ts.fresh, s.Tenant)
		}
	}
	t.queue.add(s)
	ts.n++
	ts.next = -1
}

func (ts *tenants) len() int { return ts.n }

func (ts *tenants) first() *sim.Sequence {
	if ts.next < 0 {
		ts.next = ts.least(nil)
	}
	return ts.list[ts.next].queue.first()
}

func (ts *tenants) remove(s *sim.Sequence) {
	t := ts.of(s)
	t.queue.remove(s)
	ts.n--
	ts.next = -1
	if t.queue.len() == 0 {
		ts.last = s.Tenant
		ts.delete(s.Tenant)
	}
}

func (ts *tenants) victim(b *sim.Batch) *sim.Sequence { return b.Victim() }

func (ts *tenants) displaced(*sim.Batch) *sim.Sequence { return nil }

// ignoresArrivals implements order: a tenant that comes back is lifted at the next step.
func (ts *tenants) ignoresArrivals(bool) bool { return false }

// insert and delete keep the tenants with requests that wait in order.
func (ts *tenants) insert(number int) {
	i, _ := slices.BinarySearch(ts.waiting, number)
	ts.waiting = slices.Insert(ts.waiting, i, number)
}

func (ts *tenants) delete(number int) {
	i, _ := slices.BinarySearch(ts.waiting, number)
	ts.waiting = slices.Delete(ts.waiting, i, i+1)
}

// least returns the tenant that was served least among the tenants that wait and are not in except;
// −1 without one.
func (ts *tenants) least(except []int) int {
	least, counter := -1, 0.0
	for _, i := range ts.waiting {
		if len(except) > 0 && slices.Contains(except, i) {
			continue
		}
		if c := ts.counter(i); least < 0 || c < counter {
			least, counter = i, c
		}
	}
	return least
}

// lift raises the counters of tenants that came back.
func (ts *tenants) lift() {
	for k, i := range ts.fresh {
		floor := ts.least(ts.fresh[k:])
		if floor < 0 {
			floor = ts.last
		}
		if floor >= 0 {
			ts.list[i].lifted += max(0, ts.counter(floor)-ts.counter(i))
		}
	}
	ts.fresh = ts.fresh[:0]
}
