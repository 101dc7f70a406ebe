package launch

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// manifest is what Kubernetes manifests say of the replicas of one engine.
type manifest struct {
	name      string // of the object with the engine's command
	replicas  int
	scaled    *Autoscaler
	most      int      // replicas of Autoscaler
	unknown   []string // metrics that are none of the engine's
	workloads int      // objects with such a command
}

// fleetOf returns what manifests say of the replicas that a command starts. Of several objects with
// commands nothing is said.
func fleetOf(text string, e *engine) (m manifest) {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var scalers []map[string]any
	m.replicas = 1
	for range mostDocuments {
		var document map[string]any
		if err := decoder.Decode(&document); err != nil {
			if !errors.Is(err, io.EOF) {
				return manifest{}
			}
			break
		}
		if document["kind"] == "HorizontalPodAutoscaler" {
			scalers = append(scalers, document)
			continue
		}
		if len(starting(containerCommands(document, nil))) == 0 {
			continue
		}
		m.workloads++
		m.name, _ = within(document, "metadata", "name").(string)
		if n, ok := within(document, "spec", "replicas").(int); ok {
			m.replicas = n
		}
	}
	for _, s := range scalers {
		if within(s, "spec", "scaleTargetRef", "name") == m.name {
			m.scale(s, e)
		}
	}
	return m
}

// multiply takes over the replicas that the command itself starts: each pod has as many.
func (m *manifest) multiply(r *Reading) {
	at := slices.IndexFunc(r.Settings, func(s string) bool {
		return strings.HasPrefix(s, "replicas=")
	})
	if at < 0 || m.workloads != 1 {
		return
	}
	each, _ := strconv.Atoi(strings.TrimPrefix(r.Settings[at], "replicas="))
	r.Settings = slices.Delete(r.Settings, at, at+1)
	m.replicas, m.most = m.replicas*each, m.most*each
	if m.scaled != nil {
		m.scaled.Least *= each
	}
}

// within returns the value at a path of keys; nil where there is none.
func within(value any, path ...string) any {
	for _, key := range path {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

// scale takes over what an autoscaler says.
func (m *manifest) scale(document map[string]any, e *engine) {
	a := &Autoscaler{Least: 1, Hold: 300} // the defaults of Kubernetes
	spec := document["spec"]
	if n, ok := within(spec, "minReplicas").(int); ok {
		a.Least = n
	}
	m.most, _ = within(spec, "maxReplicas").(int)
	if n, ok := within(spec, "behavior", "scaleDown",
		"stabilizationWindowSeconds").(int); ok {
		a.Hold = n
	}
	metrics, _ := within(spec, "metrics").([]any)
	for _, metric := range metrics {
		name, _ := within(metric, "pods", "metric", "name").(string)
		target := fmt.Sprint(within(metric, "pods", "target", "averageValue"))
		if name == "" || name != e.waiting && name != e.running {
			kind, _ := within(metric, "type").(string)
			m.unknown = append(m.unknown, strings.TrimSpace(kind+" "+name))
			continue
		}
		a.Metrics = append(a.Metrics, Metric{name, target})
	}
	m.scaled = a
}

// settings returns overrides of a scenario for the replicas, and what they leave out.
func (m *manifest) settings(e *engine) (list, notes []string) {
	switch {
	case m.workloads != 1:
		return nil, nil
	case m.scaled == nil && m.replicas > 1:
		return []string{fmt.Sprintf("replicas=%d", m.replicas)}, nil
	case m.scaled == nil:
		return nil, nil
	}
	for _, metric := range m.unknown {
		notes = append(notes, fmt.Sprintf("autoscaler: the metric %s has no meaning in a scenario",
			metric))
	}
	policy := m.policy(e)
	if policy == "" {
		notes = append(notes, fmt.Sprintf("autoscaler: no scaling policy does what it does; all "+
			"%d replicas run always", m.most))
		return []string{fmt.Sprintf("replicas=%d", m.most)}, notes
	}
	return []string{fmt.Sprintf("fleet.pools=[{replicas: %d, scaling: {%s, min: %d, keep: %ds}}]",
		m.most, policy, m.scaled.Least, m.scaled.Hold)}, notes
}

// policy returns the scaling policy that comes nearest to the metrics of an autoscaler, with its
// target; empty where there is none.
func (m *manifest) policy(e *engine) string {
	targets := map[string]float64{}
	for _, metric := range m.scaled.Metrics {
		if n, ok := number(metric.Target); ok {
			targets[metric.Name] = n
		}
	}
	waiting, queued := targets[e.waiting]
	running, run := targets[e.running]
	switch {
	case run && (!queued || waiting == running):
		return fmt.Sprintf("policy: outstanding, target: %g", running)
	case queued && !run:
		return fmt.Sprintf("policy: queue, per-replica: %g", waiting)
	}
	return ""
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
