package launch

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/launch/commands"
	"github.com/llmsim/llmsim/internal/launch/engines"
)

// readScaler returns the scaling of a pool that comes nearest to a HorizontalPodAutoscaler over
// pods with several replicas each, the most replicas that there are, and what it leaves out. The
// scaling is empty where no policy does what the autoscaler does.
func readScaler(e *engines.Engine, document map[string]any, each int) (s section, most int,
	notes []string) {
	spec := document["spec"]
	whole := func(otherwise int, path ...string) int {
		if n, ok := commands.At(spec, path...).(int); ok && n > 0 {
			return min(n, commands.MostReplicas)
		}
		return otherwise
	}
	most = each * whole(1, "maxReplicas")
	targets, notes := targetsOf(e, spec)
	policy, parameter, target := policyOf(e, targets)
	if policy == "" {
		return nil, most, append(notes, fmt.Sprintf("autoscaler: no scaling policy does what it "+
			"does; all %d replicas run always", most))
	}
	hold := whole(300, "behavior", "scaleDown", "stabilizationWindowSeconds") // Kubernetes' default
	s.set("policy", policy)
	s.set(parameter, strconv.FormatFloat(target, 'g', -1, 64))
	s.set("min", strconv.Itoa(each*whole(1, "minReplicas")))
	s.set("keep", strconv.Itoa(hold)+"s")
	return s, most, notes
}

// targetsOf returns what an autoscaler wants of the engine's metrics for each pod, and which of its
// metrics are others.
func targetsOf(e *engines.Engine, spec any) (targets map[string]float64, notes []string) {
	targets = map[string]float64{}
	metrics, _ := commands.At(spec, "metrics").([]any)
	for _, metric := range metrics {
		name, _ := commands.At(metric, "pods", "metric", "name").(string)
		if name == "" || name != e.Waiting && name != e.Running {
			kind, _ := commands.At(metric, "type").(string)
			notes = append(notes, fmt.Sprintf("autoscaler: the metric %s has no meaning in a "+
				"scenario", strings.TrimSpace(kind+" "+name)))
			continue
		}
		target := fmt.Sprint(commands.At(metric, "pods", "target", "averageValue"))
		if n, ok := number(target); ok {
			targets[name] = n
		}
	}
	return targets, notes
}

// policyOf returns the scaling policy that comes nearest to targets, with its parameter; empty
// without one.
func policyOf(e *engines.Engine, targets map[string]float64) (name, parameter string,
	value float64) {
	waiting, queued := targets[e.Waiting]
	running, run := targets[e.Running]
	switch {
	case run && (!queued || waiting == running):
		return "outstanding", "target", running
	case queued && !run:
		return "queue", "per-replica", waiting
	}
	return "", "", 0
}

// number reads a quantity of Kubernetes that counts things.
func number(quantity string) (float64, bool) {
	digits, thousandths := strings.CutSuffix(quantity, "m")
	n, err := strconv.ParseFloat(digits, 64)
	if thousandths {
		n /= 1000
	}
	return n, err == nil && n > 0 && n < 1e9
}
