package sim_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/sim"
)

// plainV0 is the scheduler of vLLM V0: prompts or decodes, prompts first and whole; who gives way
// moves to host memory.
type plainV0 struct {
	places, budget int
	watermark      float64
	swap           bool
	waiting        []*plainSequence
}

func (p *plainV0) arrive(s *plainSequence) { p.waiting = append(p.waiting, s) }

func (p *plainV0) step(r *plainReplica) sim.Time {
	reserve := int64(0)
	if r.free() < r.c.blocks {
		reserve = int64(p.watermark * float64(r.c.blocks))
	}
	if len(p.waiting) > 0 && p.waiting[0].swapped == 0 && p.admit(r, reserve) {
		return sim.Never
	}
	short := false
	for ; !r.decode(); short = true {
		victim := r.last()
		r.displace(victim, p.swap)
		p.waiting = append([]*plainSequence{victim}, p.waiting...)
	}
	for !short && len(p.waiting) > 0 && p.waiting[0].swapped > 0 && len(r.running) < p.places &&
		r.prefill(p.waiting[0], math.MaxInt, reserve) > 0 {
		p.waiting = p.waiting[1:]
	}
	return sim.Never
}

// admit starts prompts, and returns false where none can start.
func (p *plainV0) admit(r *plainReplica, reserve int64) bool {
	budget, n := p.budget, 0
	for ; budget > 0 && len(p.waiting) > 0 && len(r.running) < p.places; n++ {
		s := p.waiting[0]
		whole := s.remaining()
		// What may never find room in the budget starts alone.
		if whole > budget && (n > 0 || whole <= p.budget-p.places) ||
			r.prefill(s, math.MaxInt, reserve) == 0 {
			break
		}
		p.waiting = p.waiting[1:]
		budget -= whole
	}
	return n > 0
}

// The scheduler of vLLM V0 agrees with its plain form, swapping or computing again.
func TestSwappingAgreesWithPlain(t *testing.T) {
	agrees(t, func(t *rapid.T, c *setting) plan {
		p := &plainV0{places: c.maxSequences, budget: c.budget,
			watermark: rapid.SampledFrom([]float64{0, 0.01, 0.3}).Draw(t, "watermark"),
			swap:      rapid.IntRange(0, 3).Draw(t, "swap") > 0}
		c.make = func() (sim.Scheduler, error) {
			return batching.NewVLLMV0(p.places, p.budget, p.watermark, p.swap)
		}
		return p
	})
}

// plainStatic runs batches until all in them are complete.
type plainStatic struct {
	size    int
	delay   sim.Time
	prompts batching.Prompts
	waiting []*plainSequence
}

func (p *plainStatic) arrive(s *plainSequence) { p.waiting = append(p.waiting, s) }

func (p *plainStatic) step(r *plainReplica) sim.Time {
	r.together = true
	p.proceed(r)
	if len(r.running) > 0 || len(p.waiting) == 0 {
		return sim.Never
	}
	if full := p.waiting[0].Arrival + p.delay; len(p.waiting) < p.size && full > r.now {
		return full
	}
	batch := p.waiting[:min(p.size, len(p.waiting))]
	limit := math.MaxInt
	if p.prompts == batching.Shortest {
		for _, s := range batch {
			limit = min(limit, s.remaining())
		}
	}
	longest := 0
	for _, s := range batch {
		n := r.prefill(s, limit, 0)
		if n == 0 {
			break
		}
		longest = max(longest, n)
		p.waiting = p.waiting[1:]
	}
	if p.prompts == batching.Padded {
		r.padded = longest
	}
	return sim.Never
}

// proceed goes on with a batch: a token of each sequence, of its answer or of what is left of its
// prompt. The last one gives way where memory is short.
func (p *plainStatic) proceed(r *plainReplica) {
	giveWay := func() {
		victim := r.last()
		r.preempt(victim)
		p.waiting = append([]*plainSequence{victim}, p.waiting...)
	}
	for !r.decode() {
		giveWay()
	}
	for _, s := range slices.Clone(r.running) {
		for slices.Contains(r.running, s) && s.remaining() > 0 && s.planned == 0 &&
			r.prefill(s, 1, 0) == 0 {
			giveWay()
		}
	}
}

// Static batches agree with their plain form, with prompts padded, packed, or fed as far as the
// shortest goes and then token by token, and with a time to wait for a full batch.
func TestStaticBatchesAgreeWithPlain(t *testing.T) {
	agrees(t, func(t *rapid.T, c *setting) plan {
		p := &plainStatic{size: c.maxSequences,
			delay:   rapid.SampledFrom([]sim.Time{0, 5e8, 1e11}).Draw(t, "delay"),
			prompts: batching.Prompts(rapid.IntRange(0, 2).Draw(t, "prompts"))}
		c.make = func() (sim.Scheduler, error) {
			return batching.NewStatic(p.size, p.delay, p.prompts, false)
		}
		return p
	})
}

// plainMLFQ is a multi-level feedback queue, with a list of all that it knows.
type plainMLFQ struct {
	batching.MLFQConfig
	jobs   []*plainJob
	orders int
}

// plainJob is a request in the queue. A level and a time order waiting jobs: of the queue, and
// when it entered it; and running ones: of the queue, and when its quantum began.
type plainJob struct {
	*plainSequence
	level          int
	entered, began sim.Time
	runs           bool
	order          int // in which it began its quantum, or was paused
}

func (p *plainMLFQ) quantum(level int) sim.Time {
	if level == p.Levels-1 {
		return sim.Never / 2
	}
	return p.Quantum << level
}

func (p *plainMLFQ) arrive(s *plainSequence) {
	level := 0
	for level < p.Levels-1 &&
		p.quantum(level) < sim.Seconds(float64(s.Prompt)/p.PrefillRate) {
		level++
	}
	p.jobs = append(p.jobs, &plainJob{plainSequence: s, level: level, entered: s.Arrival})
}

// ordered returns the jobs that fulfil a condition, in an order.
func (p *plainMLFQ) ordered(include func(*plainJob) bool,
	compare func(a, b *plainJob) int) []*plainJob {
	var list []*plainJob
	for _, j := range p.jobs {
		if include(j) {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, compare)
	return list
}

func first(a, b *plainJob) int {
	return cmp.Or(a.level-b.level, cmp.Compare(a.entered, b.entered), int(a.ID-b.ID))
}

// waiting returns the jobs that wait, the first to start first; runners the running ones, and
// paused the ones that wait and hold memory, the first to give way last.
func (p *plainMLFQ) waiting() []*plainJob {
	return p.ordered(func(j *plainJob) bool { return !j.runs }, first)
}

func (p *plainMLFQ) runners() []*plainJob {
	return p.ordered(func(j *plainJob) bool { return j.runs }, func(a, b *plainJob) int {
		return cmp.Or(a.level-b.level, cmp.Compare(a.began, b.began), a.order-b.order)
	})
}

func (p *plainMLFQ) paused() []*plainJob {
	return p.ordered(func(j *plainJob) bool { return !j.runs && j.stored > 0 },
		func(a, b *plainJob) int { return cmp.Or(a.level-b.level, a.order-b.order) })
}

func (p *plainMLFQ) step(r *plainReplica) sim.Time {
	p.jobs = slices.DeleteFunc(p.jobs, func(j *plainJob) bool { return j.Generated == j.Output })
	p.move(r.now)
	if !r.decode() {
		for p.release(r, nil) && !r.decode() {
		}
		return sim.Never
	}
	for {
		waiting := p.waiting()
		if len(waiting) == 0 || !p.start(r, waiting[0]) {
			return sim.Never
		}
	}
}

// move takes jobs into another queue: jobs that waited for too long into the first, jobs whose
// quantum is over into the next.
func (p *plainMLFQ) move(now sim.Time) {
	for _, j := range p.waiting() {
		if p.Starvation > 0 && j.level > 0 && j.entered+p.Starvation <= now {
			j.level, j.entered = 0, j.entered+p.Starvation
			p.orders++
			j.order = p.orders
		}
	}
	for level := range p.Levels - 1 {
		for _, j := range p.runners() {
			if j.level == level && j.began+p.quantum(level) <= now {
				j.level, j.began = level+1, j.began+p.quantum(level)
				j.entered = j.began
				p.orders++
				j.order = p.orders
			}
		}
	}
}

// release takes the memory of a job that comes after the given one, if there is one.
func (p *plainMLFQ) release(r *plainReplica, before *plainJob) bool {
	for _, j := range slices.Backward(p.paused()) {
		if j != before {
			r.displace(j.plainSequence, p.Swap)
			return true
		}
	}
	runners := p.runners()
	if len(runners) == 0 || before != nil && first(before, runners[len(runners)-1]) > 0 {
		return false
	}
	j := runners[len(runners)-1]
	j.runs = false
	r.displace(j.plainSequence, p.Swap)
	return true
}

// start puts j, which is the first that waits, into the batch. Others that come after it make way.
func (p *plainMLFQ) start(r *plainReplica, j *plainJob) bool {
	for {
		if runners := p.runners(); len(runners) >= p.MaxSequences {
			worst := runners[len(runners)-1]
			if first(j, worst) > 0 {
				return false
			}
			p.orders++
			worst.runs, worst.order = false, p.orders
			r.pause(worst.plainSequence)
		}
		if r.prefill(j.plainSequence, math.MaxInt, 0) > 0 {
			p.orders++
			j.runs, j.began, j.order = true, r.now, p.orders
			return true
		}
		if !p.release(r, j) {
			return false
		}
	}
}

// The multi-level feedback queue agrees with its plain form.
func TestFeedbackQueueAgreesWithPlain(t *testing.T) {
	agrees(t, func(t *rapid.T, c *setting) plan {
		p := &plainMLFQ{MLFQConfig: batching.MLFQConfig{MaxSequences: c.maxSequences,
			Levels:  rapid.SampledFrom([]int{1, 3, 8}).Draw(t, "levels"),
			Quantum: rapid.SampledFrom([]sim.Time{1e7, 2e9, 5e10}).Draw(t, "quantum"),
			PrefillRate: rapid.SampledFrom([]float64{500, 1e5}).Draw(t,
				"prefillRate"),
			Starvation: rapid.SampledFrom([]sim.Time{0, 3e9, 1e11}).Draw(t, "starvation"),
			Swap:       rapid.Bool().Draw(t, "swap")}}
		c.make = func() (sim.Scheduler, error) { return batching.NewMLFQ(p.MLFQConfig) }
		return p
	})
}
