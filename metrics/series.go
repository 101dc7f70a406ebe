package metrics

import "github.com/llmsim/llmsim/sim"

// Point is the state of the whole fleet at one moment.
type Point struct {
	// At is in simulated time.
	At sim.Time
	// Waiting, Running and Decoding are numbers of requests over all replicas.
	Waiting, Running, Decoding int
	// Up is the number of replicas that serve, start, or finish their last requests.
	Up int
	// KVUsage is the share of the KV memory in use over all replicas, in [0, 1].
	KVUsage float64
	// Slots divides the KV memory of some replicas. It is zero if the memory policy cannot report
	// it.
	Slots sim.Slots
}

// seriesPoints is the default for the largest number of points. It is more than the columns of a
// screen.
const seriesPoints = 2048

// series keeps a bounded number of evenly spaced points: when it is full, every other one is
// dropped.
type series struct {
	points []Point
	limit  int
	stride int // samples for each point kept
	skip   int // samples to pass over before the next point

	// The moment that is being sampled, replica by replica.
	now            Point
	used, capacity int64
	open           bool
}

func newSeries(limit int) series {
	if limit <= 0 {
		limit = seriesPoints
	}
	return series{limit: limit, stride: 1}
}

func (s *series) add(at sim.Time, replica int, state sim.State) {
	if replica == 0 {
		s.close()
		s.open, s.now, s.used, s.capacity = true, Point{At: at}, 0, 0
	}
	if state.Up {
		s.now.Up++
	}
	s.now.Waiting += state.Waiting
	s.now.Running += state.Running
	s.now.Decoding += state.Decoding
	s.used += state.Used
	s.capacity += state.Capacity
	if s.skip == 0 && state.Slots != nil {
		s.now.Slots.Add(state.Slots())
	}
}

// close ends the moment under way.
func (s *series) close() {
	if !s.open {
		return
	}
	s.open = false
	if s.capacity > 0 {
		s.now.KVUsage = float64(s.used) / float64(s.capacity)
	}
	if s.skip > 0 {
		s.skip--
		return
	}
	if len(s.points) == s.limit {
		s.thin()
		if s.skip > 0 {
			s.skip--
			return
		}
	}
	s.points = append(s.points, s.now)
	s.skip = s.stride - 1
}

// thin drops every other point. The next point is due when the kept spacing says so.
func (s *series) thin() {
	half := 0
	for i := 0; i < len(s.points); i += 2 {
		s.points[half] = s.points[i]
		half++
	}
	if len(s.points)%2 == 1 {
		s.skip = s.stride // the last point was kept: half of the new distance has passed
	}
	s.points = s.points[:half]
	s.stride *= 2
}
