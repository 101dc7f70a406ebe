package workload

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/lengths"
)

func must(d *lengths.Distribution, err error) *lengths.Distribution {
	if err != nil {
		panic(err)
	}
	return d
}

func fixed(tokens int) *lengths.Distribution { return must(lengths.Fixed(tokens)) }

// poisson is a Poisson process.
func poisson(rate float64) *arrivals.Process {
	return &arrivals.Process{Rate: arrivals.Steady(rate)}
}

func open(t testing.TB, c Config) Source {
	t.Helper()
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// server answers every request after a random time, as a simulation would, and notes what it was
// sent.
type server struct {
	sent []sim.Request
	// most is the largest number of requests that were under way together.
	most int
}

// serve runs a source to its end, or until it has sent many requests.
func serve(t testing.TB, s Source, many int, latency func() sim.Time) server {
	t.Helper()
	type answer struct {
		at      sim.Time
		request sim.Request
	}
	var v server
	var open []answer
	now := sim.Time(0)
	for len(v.sent) < many {
		next := s.NextArrival()
		if len(open) > 0 && open[0].at <= next {
			now = open[0].at
			s.Done(&open[0].request, now)
			open = open[1:]
			continue
		}
		if next == sim.Never {
			break
		}
		if next < now {
			t.Fatalf("an arrival at %v is announced at %v", next, now)
		}
		now = next
		r := garbage()
		s.Next(&r)
		if r.Arrival != now || r.ID != garbage().ID {
			t.Fatalf("announced at %v: %+v", now, r)
		}
		r.ID = int64(len(v.sent))
		v.sent = append(v.sent, r)
		done := answer{now + latency(), r}
		at, _ := slices.BinarySearchFunc(open, done.at+1, func(a answer, at sim.Time) int {
			return int(min(max(a.at-at, -1), 1))
		})
		open = slices.Insert(open, at, done)
		v.most = max(v.most, len(open))
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return v
}

// garbage is a request with something in every field, all of which but ID must be overwritten.
func garbage() sim.Request {
	var r sim.Request
	fields := reflect.ValueOf(&r).Elem()
	for i := range fields.NumField() {
		switch f := fields.Field(i); f.Kind() {
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 3, 5))
		case reflect.Uint64:
			f.SetUint(77)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Struct:
			f.Set(reflect.ValueOf(sim.Call{Number: 77, Turn: 77, Of: 77}))
		default:
			f.SetInt(-77)
		}
	}
	return r
}

// jitter answers after up to a second, at once now and then.
func jitter(seed uint64) func() sim.Time {
	r := rand.New(rand.NewPCG(seed, 1))
	return func() sim.Time {
		return max(0,
			sim.Time(r.Int64N(int64(sim.Second)))-100*sim.Millisecond)
	}
}
