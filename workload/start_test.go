package workload

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
)

// Users who start in equilibrium are spread evenly over a cycle, whatever the seed: the share of
// them in any part of it is that part but for the bound of Dvoretzky, Kiefer and Wolfowitz, which
// is exceeded with a probability of 1e-9. So are the calls at which their first sessions begin. The
// first user starts at 0, the same seed gives the same
// places, and the cycle is asked for with the means of the workload.
func TestUsersStartOverACycle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		users := rapid.IntRange(1, 3000).Draw(rt, "users")
		cycle := sim.Time(rapid.Int64Range(1e6, int64(100*sim.Second)).Draw(rt, "cycle"))
		turns := rapid.IntRange(1, 5).Draw(rt, "turns")
		c := Config{Requests: int64(users), Seed: rapid.Uint64().Draw(rt, "seed"),
			Users: &Users{Count: users, Think: arrivals.Delay{Mean: 3 * sim.Second}},
			Classes: []Class{{Weight: 2, Prompt: fixed(70), Output: fixed(9), Turns: &Turns{
				Count: fixed(turns), Think: arrivals.Delay{Mean: sim.Second}}}}}
		c.Users.Cycle = func(_, output float64, pause sim.Time) sim.Time {
			want := (3*sim.Second + sim.Time(turns-1)*sim.Second) / sim.Time(turns)
			if output != 9 || pause < want-sim.Nanosecond || pause > want+sim.Nanosecond {
				rt.Fatalf("asked for outputs of %v and pauses of %v, want 9 and %v", output, pause,
					want)
			}
			return cycle
		}
		calls := make([]int, turns) // by the call at which a user's first session begins
		at := func() (list []sim.Time) {
			source := open(t, c)
			for source.NextArrival() != sim.Never {
				var r sim.Request
				source.Next(&r)
				list = append(list, r.Arrival)
				calls[max(0, r.Call.Number-1)]++
			}
			return list
		}
		list := at()
		began := 0
		for k, n := range calls {
			began += n
			off := float64(began)/float64(users) - float64(k+1)/float64(turns)
			if bound := 3.3 / math.Sqrt(float64(users)); off > bound || -off > bound {
				rt.Fatalf("%d users begin at calls %v", users, calls)
			}
		}
		if len(list) != users || list[0] != 0 || !slices.IsSorted(list) ||
			list[users-1] > cycle || !slices.Equal(list, at()) {
			rt.Fatalf("%d users start at %v", users, list)
		}
		// Each of the users but the first is anywhere in the cycle after it; n·e² = ln(2e9)/2. The
		// first takes away 1/users of the cycle in the mean, and more than 21 times that with a
		// probability of 1e-9.
		n := float64(users)
		for i, a := range list {
			off := float64(a)/max(1, float64(cycle)) - float64(i)/n
			if bound := 21/n + 3.3/math.Sqrt(n); off > bound || -off > bound {
				rt.Fatalf("user %d of %d starts after %v of a cycle of %v", i, users, a, cycle)
			}
		}
	})
}
