package audit

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/policies"
)

// Commands that say the same of a server agree, for drawn servers, with pipelines, drafts and
// hybrids: memory and scenario on the plan of the memory; roofline, explain and scenario on steps,
// whose operators sum to the whole; and a prompt alone, whose prefill in a scenario is the step of
// the roofline, or more where the prompt is computed in several steps.
func TestCommandsAgree(t *testing.T) {
	registry, n, from := policies.Default(), 150, firstSeed()
	if testing.Short() {
		n = 40
	}
	compared, alone := 0, 0
	for seed := from; seed < from+uint64(n); seed++ {
		s := drawScenario(registry, seed)
		for _, key := range []string{"fleet", "caches", "replicas", "slo", "tokens"} {
			delete(s, key)
		}
		s["workload"] = object{"requests": 1, "arrivals": "at-once", "prompt": 33, "output": 1}
		if _, err := repair(&drawer{seed, registry}, s); err != nil {
			continue
		}
		l := &laws{}
		prefill, err := agree(l, registry, s)
		if err != nil {
			l.that(false, "%v", err)
		}
		compared++
		if prefill {
			alone++
		}
		if len(l.wrong) > 0 {
			t.Errorf("scenario %d: %s\n%s", seed, text(s), strings.Join(l.wrong, "\n"))
		}
	}
	t.Logf("%d of %d drawn servers were compared, %d with a prompt alone", compared, n, alone)
	if compared < n/2 || alone < n/4 {
		t.Errorf("only %d of %d servers were compared, %d with a prompt", compared, n, alone)
	}
}

// agree holds the commands against each other for a scenario of one server and one request. It
// reports whether the prompt's prefill was compared.
func agree(l *laws, registry *policies.Registry, s object) (prefill bool, err error) {
	defer panics(&err)
	file, err := parse(s, 1)
	if err != nil {
		return false, err
	}
	memory, err := file.Memory(registry)
	if err != nil {
		return false, fmt.Errorf("memory: %w", err)
	}
	steps, err := file.Steps(registry)
	if err != nil {
		return false, fmt.Errorf("roofline: %w", err)
	}
	simulation, err := file.Build(registry)
	if err != nil {
		return false, err
	}
	if !memory.ChosenTensor {
		m, of := memory.Plan, simulation.Memory
		l.that(m.Tokens == of.Tokens && m.Weights == of.Weights && m.KV == of.KV,
			"memory: %d tokens, %v weights, %v KV; scenario: %d, %v, %v", m.Tokens, m.Weights, m.KV,
			of.Tokens, of.Weights, of.KV)
		entry := report.NewMemoryEntry(memory)
		sum := m.Weights + m.Activations + m.Context + m.Draft + m.Adapters + m.KV
		l.that(sum <= entry.Usable*(1+rounding) || entry.Missing > 0 ||
			simulation.Given("memory.tokens"), "memory: parts of %v in %v", sum, entry.Usable)
	}
	// roofline of the command and of the simulation; its operators sum to the step
	prompts, batches := []int{33, 700}, []int{1, 9, 64}
	one := report.NewRoofline(steps, prompts, batches, 500)
	d := cmp.Diff(one, report.NewRoofline(simulation.Steps(), prompts, batches, 500))
	l.that(d == "", "roofline (-) and scenario (+): %s", d)
	low, high := math.Inf(1), 0.0
	for i := range one.Steps {
		step := &one.Steps[i]
		var flops, bytes, time, parts float64
		for _, o := range step.Operators {
			flops, bytes, time = flops+o.FLOPs, bytes+o.Bytes, time+o.Time
		}
		for _, part := range step.Parts {
			parts += part
		}
		name := fmt.Sprintf("%s %d: ", step.Phase, step.Tokens)
		l.same(name+"FLOP", flops, step.FLOPs, 0)
		l.same(name+"bytes", bytes, step.Bytes, 0)
		l.same(name+"time", time, step.Time, 1e-12)
		l.same(name+"parts", parts, step.Time, 1e-12)
		l.same(name+"bytes by kind", step.Weights+step.KV+step.Scores+step.Activations,
			step.Bytes, 0)
		low, high = min(low, step.Time), max(high, step.Time)
	}
	l.that(low >= 0 && !math.IsInf(high, 0), "steps take %v to %v s", low, high)
	// explain prints what can be
	catalog, err := hardware.Load()
	fatal(err)
	desktop, err := catalog.Accelerator("desktop-50gbs")
	fatal(err)
	var out bytes.Buffer
	p := report.NewPrinter(&out)
	p.Lesson(report.NewLesson(steps, desktop, 33, 500))
	l.that(p.Err() == nil, "explain: %v", p.Err())
	l.words("explain", out.String())
	// a prompt alone
	r, err := simulation.Run(context.Background())
	if err != nil || r.Completed != 1 || r.Phases == nil {
		return false, err
	}
	sc := &simulation.Scenario
	if r.Steps != 1 || sc.Adapters != nil {
		return false, nil
	}
	want := one.Steps[0].Time * 1000
	l.that(math.Abs(r.MeanPrefill-want) <= rounding*want, "a prompt alone takes %v ms in the "+
		"roofline, and %v ms in the scenario", want, r.MeanPrefill)
	return true, nil
}
