package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/llmsim/llmsim/internal/serve/openai"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/sim"
)

// slowClock makes the steps of a replica longer on demand.
type slowClock struct {
	sim.StepClock
	factor float64
	// turn counts the changes of factor, so that the end of one does not end a later one.
	turn int
}

func (c *slowClock) set(factor float64) {
	c.factor = factor
	c.turn++
}

// Duration implements sim.StepClock.
func (c *slowClock) Duration(s *sim.Step) sim.Time {
	d := c.StepClock.Duration(s)
	if c.factor == 1 {
		return d
	}
	return max(sim.Time(float64(d)*c.factor), 1)
}

// pins is a router for requests that only one replica may serve, and asks another about the rest.
type pins struct {
	sim.Router
	replica map[int64]int // by sim.Request.ID
	// refuse ends a request whose replica does not take it.
	refuse func(id int64)
}

func (p *pins) pin(id int64, replica int) {
	if replica >= 0 {
		p.replica[id] = replica
	}
}

func (p *pins) unpin(id int64) { delete(p.replica, id) }

// Route implements sim.Router. A request whose replica does not take it is refused; until that is
// done, another has it.
func (p *pins) Route(r *sim.Request, pool *sim.Pool) int {
	if want, ok := p.replica[r.ID]; ok {
		if pool.Accepts(want) {
			return want
		}
		p.refuse(r.ID)
	}
	return p.Router.Route(r, pool)
}

// Fault is a failure on demand.
type Fault struct {
	// Kind is kill (a replica fails), slow (its steps take Factor times as long) or drop (requests
	// in flight lose their connection).
	Kind string `json:"kind"`
	// Replica is whose failure it is; nil for drop, which is of all.
	Replica *int    `json:"replica,omitempty"`
	Factor  float64 `json:"factor,omitempty"`
	// For is the duration of the failure in simulated time, such as 30s; empty means without end.
	For string `json:"for,omitempty"`
}

// FaultHandler lets clients cause failures: POST /faults with a Fault, GET /faults for a list of
// what lasts, and DELETE /faults to end it.
func (f *Fleet) FaultHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /faults", func(w http.ResponseWriter, r *http.Request) {
		var fault Fault
		decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4<<10))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&fault)
		if err == nil {
			err = f.Break(fault)
		}
		if err != nil {
			e := openai.Invalid("", "fault: %v", err)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(e.Status)
			_, _ = w.Write(e.Body())
			return
		}
		writeJSON(w, fault)
	})
	list := func(end bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, struct {
				Faults []Fault `json:"faults"`
			}{f.faults(end)})
		}
	}
	mux.HandleFunc("GET /faults", list(false))
	mux.HandleFunc("DELETE /faults", list(true))
	return mux
}

// lasting is a fault and the time of the simulation at which it ends.
type lasting struct {
	Fault
	end sim.Time
}

// faults returns the faults that last, in the order in which they were caused, and ends them if
// that is wanted.
func (f *Fleet) faults(end bool) []Fault {
	found := make(chan []Fault, 1)
	f.order(func(at sim.Time) {
		list := []Fault{}
		f.forgetFaults(func(l *lasting) bool { return l.end <= at })
		for _, l := range f.broken {
			list = append(list, l.Fault)
			switch {
			case !end:
			case l.Kind == "kill":
				f.err = errors.Join(f.err, f.loop.Recover(*l.Replica))
				f.setUp(*l.Replica, true)
			default:
				f.slow[*l.Replica].set(1)
			}
		}
		if end {
			f.broken = nil
		}
		found <- list
	})
	select {
	case list := <-found:
		return list
	case <-f.done:
		return []Fault{}
	}
}

// forgetFaults takes faults off the list.
func (f *Fleet) forgetFaults(ended func(*lasting) bool) {
	f.broken = slices.DeleteFunc(f.broken, func(l lasting) bool { return ended(&l) })
}

// listFault lists a fault, in the place of one of the same kind of the same replica.
func (f *Fleet) listFault(fault Fault, end sim.Time) {
	f.forgetFaults(func(l *lasting) bool {
		return l.Kind == fault.Kind && *l.Replica == *fault.Replica
	})
	f.broken = append(f.broken, lasting{fault, end})
}

// Break causes a failure.
func (f *Fleet) Break(fault Fault) error {
	replica := 0
	switch {
	case fault.Replica != nil:
		replica = *fault.Replica
	case fault.Kind == "kill" || fault.Kind == "slow":
		return fmt.Errorf("replica: found none, allowed with %s: 0 to %d", fault.Kind,
			len(f.slow)-1)
	}
	if replica < 0 || replica >= len(f.slow) {
		return fmt.Errorf("replica: found %d, allowed: 0 to %d", replica, len(f.slow)-1)
	}
	lasts := sim.Never
	if fault.For != "" {
		seconds, err := units.ParseDuration(fault.For)
		if err != nil || seconds <= 0 {
			return fmt.Errorf("for: found %q, allowed: spans such as 30s", fault.For)
		}
		lasts = sim.Seconds(seconds)
	}
	end := func(at sim.Time) sim.Time {
		if lasts > sim.Never-at {
			return sim.Never
		}
		return at + lasts
	}
	switch fault.Kind {
	case "kill":
		f.order(func(at sim.Time) {
			if f.up[replica].Load() { // one that is down does not fail again
				f.listFault(fault, end(at))
			}
			f.err = f.loop.Fail(replica, lasts)
			f.setUp(replica, false)
		})
	case "slow":
		if !(fault.Factor >= 0.01 && fault.Factor <= 1000) {
			return fmt.Errorf("factor: found %v, allowed: 0.01 to 1000", fault.Factor)
		}
		f.order(func(at sim.Time) { f.listFault(fault, end(at)) })
		f.setSpeed(replica, fault.Factor, lasts)
	case "drop":
		f.order(func(sim.Time) {
			for id, j := range f.jobs {
				f.loop.Cancel(id)
				j.fail(sim.Lost)
			}
		})
	default:
		return fmt.Errorf("kind: found %q, allowed: kill, slow, drop", fault.Kind)
	}
	return nil
}

// setSpeed makes the steps of a replica longer by a factor, for a while, or until it is called
// again.
func (f *Fleet) setSpeed(replica int, factor float64, lasts sim.Time) {
	f.order(func(sim.Time) {
		c := &f.slow[replica]
		c.set(factor)
		if turn := c.turn; lasts != sim.Never {
			span := time.Duration(float64(lasts) / float64(sim.Nanosecond) / f.config.Speed)
			time.AfterFunc(span, func() {
				f.order(func(sim.Time) {
					if c.turn == turn {
						c.factor = 1
					}
				})
			})
		}
	})
}
