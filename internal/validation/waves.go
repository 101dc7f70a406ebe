package validation

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/sim"
)

// requestsPerClient is how many requests each client sends, the first ones all at once: so does
// InferenceMAX, and how TTFT grows with the number of clients says the same of the other rows.
const requestsPerClient = 10

// fewWaves is how many requests a client sends in simulations of manyClients and more: what follows
// is like what was. They bound the time that a table takes.
const (
	fewWaves    = 4
	manyClients = 64
	// Beyond manyRequests it is fewer still.
	manyRequests = 4096
	leastWaves   = 2
)

// waves returns the number of requests that are simulated for the given number of clients.
func waves(clients int) int64 {
	if clients >= manyClients {
		return int64(max(leastWaves*clients, min(fewWaves*clients, manyRequests)))
	}
	return int64(requestsPerClient * clients)
}

// figuresOfWaves returns the figures of a run of requestsPerClient requests a client; waves of them
// were simulated: in means the first requests, which come all at once, count for one, and the
// others for all that follow. Medians are taken over what follows.
func (o *outcome) figuresOfWaves(clients int) map[string]float64 {
	all := o.latenciesAndRate()
	if waves(clients) == int64(requestsPerClient*clients) {
		return all
	}
	first := o.where(arrivedIn(0, 1)).figures()
	later := o.where(arrivedIn(1, sim.Never)).figures()
	for _, latency := range []string{"TTFT", "TPOT", "E2E"} {
		mean := latency + " mean"
		all[mean] = (first[mean] + (requestsPerClient-1)*later[mean]) / requestsPerClient
		all[latency+" p50"] = later[latency+" p50"]
	}
	return all
}

// allWaves returns the server of a row with all requests of its clients.
func (t *trial) allWaves() *deployment {
	own := t.deployment
	own.Workload.Requests = int64(requestsPerClient * t.count)
	return &own
}

// showWaves says of a row of which some waves are simulated what its figures are by these, and what
// they are where all requests are sent, as in the scenario that the row prints.
func (t *trial) showWaves(ctx context.Context) (string, error) {
	few, err := t.compare(ctx, &accuracy.Physics{})
	if err != nil {
		return "", err
	}
	made, err := t.allWaves().made()
	if err != nil {
		return "", err
	}
	all, err := made.serve(ctx, &accuracy.Physics{}, nil)
	if err != nil {
		return "", err
	}
	var list []string
	figures := all.latenciesAndRate()
	for i := range few {
		c := &few[i]
		if here := figures[c.Quantity]; here > 0 && c.Predicted > 0 {
			off := math.Round(1000*(here/c.Predicted-1))/10 + 0 // 0 is not written as −0
			list = append(list, fmt.Sprintf("%s is %s %s so, and %s here (%+.1f %%)", c.Quantity,
				units.Significant(c.Predicted, 5), c.Unit, units.Significant(here, 5), off))
		}
	}
	return fmt.Sprintf("validate simulates %d of the %d requests of this scenario, and in means\n"+
		"# counts the first of each user as one of %d:\n# %s.", t.Workload.Requests,
		made.Workload.Requests, requestsPerClient, strings.Join(list, ";\n# ")), nil
}

// The shortest lengths as shares of the nominal ones. InferenceMAX draws lengths between 80 and 100
// %. Elsewhere they are nominally all equal, but with lengths exactly equal clients would march in
// step for ever, and TTFT would be two to four times what was measured; some percent, as random
// text has once it is tokenised, lets them drift apart.
const (
	drawnLength = 0.8
	equalLength = 0.95
)
