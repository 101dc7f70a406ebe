package audit

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Commands that say the same of a server agree, for drawn servers, with pipelines, drafts and
// hybrids: memory and scenario on the plan of the memory; roofline, explain and scenario on steps,
// whose operators sum to the whole; and a prompt alone, whose prefill in a scenario is the step of
// the roofline, and whose TTFT is what explain says.
func TestCommandsAgree(t *testing.T) {
	registry, n, from := policies.Default(), testkit.Cases(150), firstSeed()
	kinds := map[string]int{}
	for seed := from; seed < from+uint64(n); seed++ {
		s := drawScenario(registry, seed)
		for _, key := range []string{"fleet", "caches", "replicas", "slo", "tokens"} {
			delete(s, key)
		}
		s["workload"] = object{"requests": 1, "arrivals": "at-once", "prompt": 33, "output": 1}
		d := &drawer{seed, registry}
		if d.chance("a pipeline", 0.2) {
			s["hardware"] = "h100-sxm"
			s["parallelism"] = object{"pipeline": 2 + d.random("stages").IntN(2)}
		}
		if d.chance("a hybrid", 0.2) {
			s["model"], s["hardware"] = pick(d, "hybrid", hybrids()), "h100-sxm"
		}
		if _, err := repair(d, s); err != nil {
			continue
		}
		if w, ok := s["workload"].(object); !ok || fmt.Sprint(w["prompt"]) != "33" {
			continue // a repair has left the prompt to the default
		}
		l := &laws{}
		if err := agree(l, registry, s, kinds); err != nil {
			l.that(false, "%v", err)
		}
		kinds["compared"]++
		if len(l.wrong) > 0 {
			t.Errorf("scenario %d: %s\n%s", seed, text(s), strings.Join(l.wrong, "\n"))
		}
	}
	t.Logf("of %d drawn servers: %v", n, kinds)
	for kind, least := range map[string]int{"compared": n / 2, "a prompt alone": n / 4,
		"pipelines": n / 20, "drafts": n / 20, "hybrids": n / 20} {
		if kinds[kind] < least {
			t.Errorf("%s: %d of %d servers, want %d", kind, kinds[kind], n, least)
		}
	}
}

// hybrid reports whether sequences of a model keep a state beside keys and values, as with Mamba.
func hybrid(m *models.Architecture) bool {
	const kv = hardware.BF16
	return m.KVBytesOfSequence(1, kv, 1) > m.KVBytesPerToken(kv)
}

// hybrids lists the hybrids among the models that are drawn.
func hybrids() (names []string) {
	known, err := models.Load()
	fatal(err)
	for _, name := range texts()["model"] {
		if m, err := known.Lookup(name); err == nil && hybrid(m) {
			names = append(names, name)
		}
	}
	return names
}

// agree holds the commands against each other for a scenario of one server and one request, and
// counts what it has.
func agree(l *laws, registry *policies.Registry, s object, kinds map[string]int) (err error) {
	defer panics(&err)
	file, err := parse(s, 1)
	if err != nil {
		return err
	}
	memory, err := file.Memory(registry)
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	steps, err := file.Steps(registry)
	if err != nil {
		return fmt.Errorf("roofline: %w", err)
	}
	simulation, err := file.Build(registry)
	if err != nil {
		return err
	}
	for kind, is := range map[string]bool{"pipelines": steps.Clock.Stages() > 1,
		"drafts": simulation.Scenario.Speculation != nil, "hybrids": hybrid(steps.Model)} {
		if is {
			kinds[kind]++
		}
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
	prompts, batches := []int{33, 700}, []int{1, 8, 9, 64, 256}
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
	catalog, err := hardware.Load()
	fatal(err)
	desktop, err := catalog.Accelerator("desktop-50gbs")
	fatal(err)
	var out bytes.Buffer
	fatal(doc.Print(&out, report.NewLesson(steps, desktop, 33, 500).Blocks()))
	engine := &steps.Scenario.Engine
	own := strings.Contains(string(text(s)), `"operators":`) || engine.Slowdown < 1 ||
		engine.Factors != (scenarios.Factors{})
	l.explained(out.String(), one, steps.Room(501), own)
	var drawn bytes.Buffer
	fatal(doc.Print(&drawn, one.Blocks()))
	l.words("roofline", drawn.String())
	r, err := simulation.Run(context.Background())
	if err != nil || r.Completed != 1 || r.Phases == nil {
		return err
	}
	sc := &simulation.Scenario
	if r.Steps != 1 || sc.Adapters != nil {
		return nil
	}
	want := one.Steps[0].Time * 1000
	l.that(math.Abs(r.MeanPrefill-want) <= rounding*want, "a prompt alone takes %v ms in the "+
		"roofline, and %v ms in the scenario", want, r.MeanPrefill)
	if said := firstToken.FindStringSubmatch(plainWords(out.String())); said != nil {
		took := (r.MeanTTFT - r.MeanQueue) / 1000
		l.that(said[1] == units.FormatDuration(took*(1-rounding)) ||
			said[1] == units.FormatDuration(took*(1+rounding)), "explain: TTFT of %s, in the "+
			"scenario %v s without the queue", said[1], took)
	}
	kinds["a prompt alone"]++
	return nil
}

// plainWords returns a page with one space between words.
func plainWords(page string) string { return strings.Join(strings.Fields(page), " ") }

var (
	firstToken = regexp.MustCompile(`that is alone takes [^=]*= ([^ ]+ [^ ]+)\. Users`)
	prompt     = regexp.MustCompile(`33 of them do ([^ ]+) FLOP for each byte and take ([^,]+),`)
	single     = regexp.MustCompile(`at [^ ]+ [^ ]+\. That is ([^ ]+) FLOP for each byte`)
	most       = regexp.MustCompile(`can give one user more than ([^ ]+) tokens? a second`)
)

// explained: what explain says of steps is what the roofline has. Where the scenario gives the
// times of steps, it says nothing of arithmetic and bytes.
func (l *laws) explained(page string, roof *report.Roofline, room int, own bool) {
	l.words("explain", page)
	words, found, known := plainWords(page), 0, roof.Steps[0].Placed()
	l.that(known != strings.Contains(words, "The scenario gives the times of steps") &&
		known == single.MatchString(words), "explain says what is not known: %s", words)
	for i := range roof.Steps {
		s := &roof.Steps[i]
		took, each := units.FormatDuration(s.Time), "–"
		if known {
			each = units.Figure(s.Intensity)
		}
		switch {
		case known && s.Phase == "prefill" && s.Tokens == 33:
			said := prompt.FindStringSubmatch(words)
			l.that(said != nil && said[1] == each && said[2] == took, "explain says %q of a "+
				"prompt, the roofline %s FLOP/byte in %s", said, each, took)
		case known && s.Phase == "decode" && s.Tokens == 1:
			said := single.FindStringSubmatch(words)
			l.that(said != nil && said[1] == each, "explain says %q of one user, the roofline %s "+
				"FLOP/byte", said, each)
			said = most.FindStringSubmatch(words)
			bound, err := strconv.ParseFloat(strings.ReplaceAll(said[1], ",", ""), 64)
			// Kernels of one's own, and factors on steps, may be quicker than the data sheet.
			quicker := strings.Contains(words, "The steps of this scenario are shorter than that")
			l.that(err == nil && (quicker || bound*1.01+1 >= s.Given/s.Time), "explain: no more "+
				"than %s tokens a second, and one user gets %v in %v s", said[1], s.Given, s.Time)
			l.that(own || !quicker, "explain blames factors or kernels that are not given")
		}
		if row := rowOf(page, s.Tokens); s.Phase == "decode" && row != nil {
			found++
			want := append(strings.Fields(took), units.Figure(s.Given/s.Time),
				units.Figure(float64(s.Tokens)*s.Given/s.Time), each)
			l.that(slices.Equal(row, want), "explain: a batch of %d has %v, by the roofline %v",
				s.Tokens, row, want)
		}
	}
	l.that(found > 0 || room == 0, "explain has no batch of the roofline: %s", page)
}

// rowOf returns the cells of a row of explain's table that begins with a number; nil where there is
// no such row, or the batch does not fit.
func rowOf(page string, batch int) []string {
	for _, line := range strings.Split(page, "\n") {
		if cells := strings.Fields(strings.ReplaceAll(line, "│", " ")); len(cells) == 6 &&
			cells[0] == fmt.Sprint(batch) {
			return cells[1:]
		}
	}
	return nil
}
