package scenarios

import (
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// Whatever the file and the override hold, there is a simulation or an input error within bounded
// memory and time, and never a panic.
func FuzzBuild(f *testing.F) {
	for _, name := range Shipped() {
		text, err := ReadShipped(name)
		testkit.OK(f, err)
		f.Add(string(text), "workload.requests=3")
	}
	f.Add("model: llama-2-7b\nhardware: l4\nworkload: {rate: {pattern: wave, average: 1/s, "+
		"swing: 0.5}}\n", "slo={ttft: 1s}")
	f.Add("model: opt-13b\nhardware: {accelerator: a10g}\nreplicas: 3\nworkload: {classes: "+
		"[{name: a, prompt: {distribution: zipf, exponent: 1, max: 90}}]}\n",
		"workload.classes.0.share=2")
	f.Add("model: mixtral-8x7b\nhardware: h100\nparallelism: {tensor: 4, expert: 2}\nworkload: "+
		"{sessions: {turns: 3, think: 5s}, prefix: {groups: 2, tokens: 7}}\n",
		"seed=18446744073709551615")
	f.Add("fleet: {pools: [{name: a, replicas: 2, model: gpt2, hardware: l4}, {name: b, "+
		"replicas: 1, model: opt-13b, hardware: a100, scaling: queue}]}\n"+
		"workload: {classes: [{name: x, model: gpt2, rate: 2/s, tenant: t}, {name: y, model: "+
		"opt-13b, patience: 3s}]}\n", "fleet.pools.0.role=prefill")
	f.Fuzz(func(t *testing.T, text, override string) {
		testkit.Bounded(t, len(text)+len(override), func() {
			file, err := Parse("fuzz.yaml", []byte(text), override)
			if err == nil && manyReplicas(&file.Scenario) {
				t.Skip("the time would go into many equal replicas")
			}
			if err == nil {
				var s *Simulation
				if s, err = file.Build(policies.Default()); err == nil {
					if _, err := s.Explain(); err != nil {
						t.Fatalf("cannot be explained: %v", err)
					}
					s.Source.Close()
				}
			}
			if err != nil && !IsInputError(err) {
				t.Fatalf("not an input error: %#v", err)
			}
		})
	})
}

func manyReplicas(s *Scenario) bool {
	n := s.Replicas
	for i := range s.Fleet.Pools {
		n += s.Fleet.Pools[i].Replicas
	}
	return n > 100
}
