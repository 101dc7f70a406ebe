package engines

import (
	"fmt"
	"math"
	"strconv"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Autoscaler says by what Kubernetes starts and stops the replicas of a group.
type Autoscaler struct {
	// Least is the fewest replicas.
	Least int
	// Metrics are what the engine exports: of each, replicas are wanted for its sum over all pods,
	// divided by its target, and the largest of these numbers counts.
	Metrics []Metric
	// Hold is for how many seconds replicas stay that are not needed.
	Hold int
}

// Metric is a Prometheus metric of an engine, and its target for a replica as a quantity of
// Kubernetes.
type Metric struct{ Name, Target string }

// longestHold is the longest stabilizationWindowSeconds that Kubernetes allows
// (https://pkg.go.dev/k8s.io/api/autoscaling/v2#HPAScalingRules).
const longestHold = 3600

// Autoscaler returns what comes nearest to a way of scaling; nil without one, or where the engine
// exports no metric for it.
func (e *Engine) Autoscaler(s *scenarios.Scaling) *Autoscaler {
	if s.Policy == "" || e.Waiting == "" {
		return nil
	}
	a := &Autoscaler{Least: max(1, s.Least()), Hold: int(math.Ceil(min(hold(s), longestHold)))}
	switch s.Policy {
	case "outstanding":
		target := quantity(s.Params["target"])
		a.Metrics = []Metric{{e.Running, target}, {e.Waiting, target}}
	case "queue":
		a.Metrics = []Metric{{e.Waiting, quantity(s.Params["per-replica"])}}
	default:
		a.Metrics = []Metric{{e.Waiting, "1"}}
	}
	return a
}

// hold is for how long a policy keeps replicas that are not needed, in seconds.
func hold(s *scenarios.Scaling) float64 {
	seconds, err := units.ParseDuration(s.Params["keep"])
	if err != nil {
		return 0
	}
	return seconds
}

// quantity writes a number as Kubernetes does, to a thousandth; what is not a number, or is out of
// bounds, counts as 1.
func quantity(text string) string {
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || n < 1e-3 || n > 1e9:
		return "1"
	case n == math.Trunc(n):
		return strconv.FormatFloat(n, 'f', 0, 64)
	}
	return strconv.FormatFloat(math.Round(1000*n), 'f', 0, 64) + "m"
}

// Unscaled says what of a way of scaling the autoscaler does not do.
func (e *Engine) Unscaled(pool string, s *scenarios.Scaling) (list []string) {
	say := func(format string, args ...any) {
		list = append(list, "fleet.pools "+pool+": scaling "+fmt.Sprintf(format, args...))
	}
	if s.Policy == "" {
		return nil
	}
	if e.Waiting == "" {
		say("%s: %s exports no number of requests that wait or run, so that there is no "+
			"autoscaler", s.Policy, e.Name)
		return list
	}
	switch s.Policy {
	case "outstanding":
		say("outstanding counts the requests that run and wait together; the autoscaler takes " +
			"the larger of both numbers")
	case "queue":
		say("queue adds replicas to the ones that run while requests wait; the autoscaler wants "+
			"one for each %s requests that wait, of all", s.Params["per-replica"])
	default:
		say("%s: %s exports no metric for it; the autoscaler wants a replica for each request "+
			"that waits", s.Policy, e.Name)
	}
	if s.Least() == 0 {
		say("min 0: Kubernetes' autoscaler keeps one replica unless the cluster has the feature " +
			"HPAScaleToZero")
	}
	if sim.Time(s.Every) != 15*sim.Second {
		say("every %s: a cluster has one interval for all autoscalers, 15s unless it was set "+
			"otherwise", s.Every)
	}
	if hold(s) > longestHold {
		say("keep %s: Kubernetes holds replicas for an hour at most", s.Params["keep"])
	}
	return list
}
