package sim

import "slices"

// forecast foresees a batch's next steps with drafts. It holds while all sequences of the
// group have drafts of the same length and the speculator knows how many of these are accepted. The
// sequences are then foreseen: each is visited when it joins, and when it is complete or leaves,
// but not in each step. Between two visits, Generated, Stored and LastToken of a foreseen sequence
// are those at its last visit, and Sequence.joined is the step of that visit.
//
// A forecast must end, by end, before anything reads or changes these fields of its sequences in
// another way: at a step without decodes or of a static batch, and when proceed finds sequences
// that have to be asked one by one. It also ends with a block of draws, at until; follow begins the
// next. While it is on:
//
//	origin <= group.steps <= until, group.steps <= begun <= group.steps + steps of the leap
//	growth[i] is the memory that the foreseen sequences add in step origin + i, in units
//
// Steps are counted as in progress.steps. Only the methods of forecast write its fields, except
// that a parallelRun replaces ends and contexts, whose old lists observers read.
type forecast struct {
	group      *decoders
	speculator LeapSpeculator
	memory     LeapMemory

	on      bool
	drafted int       // tokens drafted for each sequence in a step, from 0
	origin  int64     // the step at which the forecast began
	until   int64     // the step at which the block of draws ends
	begun   int64     // the tokens of all steps before this one have memory
	growth  [64]int64 // by step from origin

	// The steps of the leap under way, the first at index 0; foretell alone fills them. They have
	// the same length, at least flight.steps.
	ends     []Time  // the time from the start of the leap to the end of step i; grows strictly
	contexts []int64 // tokens that the group attends to in step i, see Step.Context
	drafting []Time  // the part of step i that drafts take, at least 0
}

// follow begins a forecast with the step that has begun. It returns false, and changes nothing, if
// not all sequences of the group, which are in members, can be foreseen.
func (k *forecast) follow(members *list, now Time) bool {
	d := k.group
	drafted := d.drafted / d.decodes
	for s := range members.decoding {
		if s.drafted != drafted || !foreseeable(s, now) {
			return false
		}
	}
	if !k.speculator.Begin(drafted) {
		return false
	}
	k.on, k.drafted, k.origin, k.begun = true, drafted, d.steps, d.steps+1
	k.until = d.steps + k.speculator.Foresee(int64(len(k.growth)))
	clear(k.growth[:])
	d.newcomers = d.newcomers[:0]
	for s := range members.decoding {
		k.add(s, true)
		if s.LastToken != d.lastToken {
			d.newcomers = append(d.newcomers, s)
		}
	}
	return true
}

// foreseeable reports whether s, which decodes, can advance without visits: its user has the first
// token, and it was never preempted.
func foreseeable(s *Sequence, now Time) bool {
	return s.Preemptions == 0 && s.FirstToken <= now
}

// proceed puts the foreseen sequences, with their drafts and with memory for them, into the step
// under construction, and adds newcomers. It returns false, and changes nothing, if sequences have
// to be asked about one by one.
func (k *forecast) proceed(now Time) bool {
	d := k.group
	fresh, stored, units := 0, d.context, int64(0)
	for _, s := range d.newcomers {
		if !s.foreseen {
			if !foreseeable(s, now) {
				return false
			}
			fresh, stored = fresh+1, stored-int64(s.Stored)
			units += k.memory.Units(1 + k.drafted) // at most
		}
	}
	if at := d.steps - k.origin; k.begun == d.steps && at < int64(len(k.growth)) {
		units += k.growth[at]
	}
	if units > k.memory.Capacity()-k.memory.Used() ||
		!k.speculator.Repeat(d.decodes-fresh, stored) {
		return false
	}
	k.store(d.steps + 1)
	for _, s := range d.newcomers {
		if !s.foreseen {
			s.drafted = k.speculator.Draft(s)
			d.drafted += s.drafted
			if n := 1 + s.drafted; !s.hasRoom(n) {
				extend(k.memory, k.memory, s, n)
			}
			k.add(s, false)
		}
	}
	return true
}

// foretell computes the steps of a leap, at most limit, from the one that has begun, which takes
// stage in all and verify without drafts. Together they end before Never, counted from start.
func (k *forecast) foretell(step *Step, clock StepClock, limit int64, start, stage, verify Time) {
	k.ends, k.drafting = append(k.ends[:0], stage), append(k.drafting[:0], stage-verify)
	k.contexts = append(k.contexts[:0], step.Context)
	first := step.Context
	for i := int64(1); i < limit; i++ {
		step.Context += int64(k.group.decodes) + k.speculator.Sum(i-1)
		verify = max(clock.Duration(step), 1)
		stage = max(k.speculator.Next(i, step, verify), verify)
		if stage >= Never-1-start-k.ends[i-1] {
			break
		}
		k.ends = append(k.ends, k.ends[i-1]+stage)
		k.contexts = append(k.contexts, step.Context)
		k.drafting = append(k.drafting, stage-verify)
	}
	step.Context = first
}

// confirm books the steps of a flight that has ended: the work in w, the tokens in the group, whose
// complete sequences are then in group.done.
func (k *forecast) confirm(f *flight, w *ReplicaResult) {
	d := k.group
	accepted := k.speculator.Sum(f.steps - 1)
	if f.leaping {
		accepted += k.contexts[f.steps-1] - k.contexts[0] - (f.steps-1)*int64(d.decodes)
		k.speculator.Advance(f.steps + f.cutOff)
		for _, t := range k.drafting[1:f.steps] {
			w.Drafting += t
		}
	}
	all := f.steps * int64(d.decodes)
	w.Drafted += all * int64(k.drafted)
	w.Accepted += accepted
	d.steps += f.steps
	d.lastToken = f.end
	all += accepted
	for d.finish.next() == d.steps {
		s := d.finish.pop()
		s.finishing = false
		all -= k.book(s)
		d.done = append(d.done, s)
	}
	w.Sampled += all
	d.context += all
}

// add makes s foreseen from the next step on, or from the one that has begun. It notes when s will
// be complete, and when s takes memory.
func (k *forecast) add(s *Sequence, began bool) {
	d, a := k.group, k.speculator.Look(s, began)
	s.foreseen, s.joined = true, d.steps
	steps := a.Steps()
	if n := a.Until(int64(s.Output - s.Generated)); n <= steps {
		steps = n
		d.finish.push(d.steps+n, s)
	}
	k.grow(s, &a, steps, 1)
}

// grow adds to growth the units of memory that s takes in so many steps since its last visit, or
// subtracts them with a sign of −1. The growth of steps that have begun is not read any more.
func (k *forecast) grow(s *Sequence, a *Accepts, steps, sign int64) {
	block := k.memory.BlockTokens()
	growth := k.growth[s.joined-k.origin:]
	left := s.room - s.Stored - 1 - k.drafted // after the tokens and drafts of step n
	for n, most := int64(0), uint32(1+k.drafted); ; {
		if left < 0 {
			units := (block - 1 - left) / block
			left += units * block
			growth[n] += sign * int64(units)
		}
		next := int64(uint32(left)/most) + 1 // no fewer can take more memory
		if n+next >= steps {
			return
		}
		left -= int(next + a.between(n, next))
		n += next
	}
}

// end ends the forecast, so that all fields of the members hold.
func (k *forecast) end(members *list) {
	d := k.group
	for s := members.first; s != nil; s = s.newer() {
		if s.foreseen {
			k.book(s)
			s.finishing = false
		}
	}
	clear(d.finish.entries)
	d.finish.entries, d.finish.stale = d.finish.entries[:0], 0
	d.newcomers = d.newcomers[:0]
	k.on = false
}

// book books the steps of s since its last visit. s is then foreseen no longer. book returns the
// number of accepted tokens beyond the end of the answer.
func (k *forecast) book(s *Sequence) (excess int64) {
	d := k.group
	steps, begun := d.steps-s.joined, k.begun-s.joined
	if needs := k.stored(s, begun) + k.drafted; needs > s.room {
		block := k.memory.BlockTokens()
		s.room = (needs + block - 1) / block * block
		k.memory.Hold(s, s.room)
	}
	accepted := k.speculator.Take(s, steps, begun)
	emitted := min(int(steps)+accepted, s.Output-s.Generated)
	s.Drafted += int(steps) * k.drafted
	s.Accepted += accepted
	s.Generated += emitted
	s.Stored += emitted
	if steps > 0 {
		s.LastToken = d.lastToken
	}
	s.foreseen, s.joined = false, d.steps
	return steps + int64(accepted-emitted)
}

// stored returns the number of tokens that s stores in the last of the steps that have begun since
// its last visit.
func (k *forecast) stored(s *Sequence, begun int64) int {
	a := k.speculator.Accepts(s)
	return s.Stored + int(begun+a.In(begun-1))
}

// occupied returns the number of tokens that s stores once so many steps of the leap have begun,
// and the number for which it has room.
func (k *forecast) occupied(s *Sequence, begun int) (stored int, room int64) {
	all := k.group.steps - s.joined + int64(begun)
	last := k.stored(s, all)
	if stored = last; begun == 0 {
		stored = s.Context()
	}
	room = k.memory.Units(last+k.drafted) * int64(k.memory.BlockTokens())
	return stored, max(room, int64(s.room))
}

// release takes s, which leaves the batch before its answer is complete, out of the forecast.
func (k *forecast) release(s *Sequence) {
	a := k.speculator.Accepts(s)
	k.grow(s, &a, min(a.Steps(), a.Until(int64(s.Output-s.Generated))), -1)
	k.book(s)
}

// store takes memory for the steps before the given one.
func (k *forecast) store(steps int64) {
	if units := k.units(steps); units > 0 {
		k.memory.Take(units)
	}
	k.begun = max(k.begun, steps)
}

// active reports whether sequences are foreseen.
func (k *forecast) active() bool { return k != nil && k.on }

// room returns the greatest number of steps after the given one, at most limit, that the free units
// of memory allow. The first has its memory.
func (k *forecast) room(free, steps, limit int64) int64 {
	for i := int64(1); i < limit; i++ {
		if free -= k.growth[steps-k.origin+i]; free < 0 {
			return i
		}
	}
	return limit
}

// units returns the units of memory that are to be taken for the steps before the given one, which
// are counted as in progress.
func (k *forecast) units(steps int64) int64 {
	n := int64(0)
	for i := k.begun; i < steps; i++ {
		n += k.growth[i-k.origin]
	}
	return n
}

// duration returns the length of the first steps.
func (k *forecast) duration(steps int64) Time {
	if steps == 0 {
		return 0
	}
	return k.ends[steps-1]
}

// ending returns the least number of steps that last at least span; all of them, where they do not.
func (k *forecast) ending(span Time) int64 {
	i, _ := slices.BinarySearch(k.ends, span)
	return int64(min(i+1, len(k.ends)))
}

// sum returns the sum of the contexts of the first steps.
func (k *forecast) sum(steps int64) int64 {
	n := int64(0)
	for _, context := range k.contexts[:steps] {
		n += context
	}
	return n
}
