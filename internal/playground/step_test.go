package playground_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/llmsim/llmsim/internal/playground"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"

	"pgregory.net/rapid"
)

// alike reports whether two figures are the same but for rounding.
func alike(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }

// servers are settings of the page with all kinds of layers, parallelism and drafts.
func servers() [][]string {
	return [][]string{
		{},
		{"attention=naive"},
		{"parallelism.tensor=4", "model=llama-3.1-70b"},
		{"parallelism.pipeline=2", "parallelism.tensor=1", "model=llama-2-7b"},
		{"model=mixtral-8x7b", "hardware=a100-80gb-sxm", "parallelism.tensor=2"},
		{"model=deepseek-v2-lite", "hardware=h200-sxm"},
		{"model=gemma-2-9b"},
		{"speculation.method=eagle", "speculation.tokens=3", "speculation.acceptance=0.7"},
		{"memory.tokens=20000", "engine.weights=fp8", "engine.kv-cache=fp8"},
		{"hardware.bandwidth=6TB/s", "hardware.peak=500TFLOP/s", "hardware.memory=60GB"},
	}
}

// A step is the sum of its operators, and the step of the roofline: its time by part, its bytes by
// kind, its arithmetic, and whether there is room for it. The memory is the plan of the command
// memory, and nothing of it is counted twice.
func TestStepsAreThoseOfTheRoofline(t *testing.T) {
	var asked playground.Servers
	for _, settings := range testkit.DrawCases(t, 5, servers()) {
		file, err := playground.Load(settings)
		testkit.OK(t, err)
		steps, err := file.Steps(policies.Default())
		testkit.OK(t, err)
		plan, err := file.Memory(policies.Default())
		testkit.OK(t, err)
		entry := report.NewMemoryEntry(plan)
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(1, 4000).Draw(t, "tokens")
			context := rapid.IntRange(1, 3000).Draw(t, "context")
			var got *playground.Step
			var want report.RooflineStep
			if rapid.Bool().Draw(t, "prompt") {
				got, err = asked.Step(settings, []playground.Chunk{{New: n}}, 0, context)
				want = report.NewRoofline(steps, []int{n}, nil, context).Steps[0]
			} else {
				n = min(n, 400)
				got, err = asked.Step(settings, nil, n, context)
				want = report.NewRoofline(steps, nil, []int{n}, context).Steps[0]
			}
			testkit.OK(t, err)
			operators, bytes, flop := 0.0, 0.0, 0.0
			for _, o := range got.Operators {
				operators, bytes, flop = operators+o.Time, bytes+o.Bytes, flop+o.FLOP
			}
			m := &got.Memory
			for i, pair := range [][2]float64{
				{got.Total, 1000 * want.Time}, {got.Parts.Sum(), got.Total}, {operators, got.Total},
				{got.Bytes.Sum(), want.Bytes}, {bytes, want.Bytes},
				{got.FLOP.Sum(), want.FLOPs}, {flop, want.FLOPs},
				{got.Bytes.Weights, want.Weights}, {got.Bytes.Scores, want.Scores},
				{got.Bytes.KVRead + got.Bytes.KVWrite, want.KV}, {got.Bytes.Sent, want.Sent},
				{got.Parts.Weights, 1000 * want.Parts["weights"]},
				{got.Parts.Arithmetic, 1000 * want.Parts["arithmetic"]}, {got.Given, want.Given},
				{m.Weights + m.Reserved + m.KV + m.Unused, m.Capacity}, {m.Capacity, entry.Total},
				{m.Weights, entry.Weights + entry.Draft}, {m.KV, entry.KV},
				{float64(m.KVTokens), float64(entry.Tokens)},
			} {
				if !alike(pair[0], pair[1]) {
					t.Fatalf("%v, %d tokens, pair %d: %g, want %g", settings, n, i, pair[0],
						pair[1])
				}
			}
			if got.Bound != want.Bound || got.Fits != want.Fits {
				t.Fatalf("%v: bound by %s, fits %t; by the roofline %s, %t", settings, got.Bound,
					got.Fits, want.Bound, want.Fits)
			}
			if got.Bytes.KVRead < 0 || got.Bytes.KVWrite < 0 || m.Unused < 0 ||
				got.FLOP.Products <= 0 {
				t.Fatalf("%v: %+v, %+v, %+v", settings, got.Bytes, got.FLOP, m)
			}
		})
	}
}

// A frame of a run is the step that is asked for by what it carries: also where prompts, whole or
// in chunks, are computed beside others that decode.
func TestStepsAreThoseOfARun(t *testing.T) {
	var asked playground.Servers
	for _, settings := range [][]string{
		{"workload.rate=30/s"},
		{"workload.rate=30/s", "batching=sarathi", "batching.token-budget=256"},
		{"workload.rate=30/s", "parallelism.tensor=2", "hardware.bandwidth=1TB/s"},
	} {
		settings = append(settings, "workload.requests=40", "workload.prompt=700",
			"workload.output=40")
		mixed, chunked := 0, 0
		for _, f := range play(t, settings...) {
			var prompts []playground.Chunk
			context := 0
			for _, r := range f.Running {
				switch {
				case r.Done: // what it stored is not told any more
					context = math.MinInt
				case r.Does == "prefill":
					prompts = append(prompts, playground.Chunk{New: r.New, Cached: r.Stored - r.New,
						Left: r.Prompt - r.Stored})
				case r.Does == "decode":
					context += r.Stored - 1
				}
			}
			if context < 0 || f.Decoding > 0 && context%f.Decoding != 0 {
				continue // sequences of several lengths, whose mean is no whole number
			}
			got, err := asked.Step(settings, prompts, f.Decoding, context/max(1, f.Decoding))
			testkit.OK(t, err)
			if got.Bound != f.Bound || !alike(got.Total, f.To-f.From) || got.Bytes != f.Bytes ||
				got.FLOP != f.FLOP || got.Parts != f.Parts {
				t.Fatalf("%v, step %d with %v and %d of %d: %+v, want %+v", settings, f.Step,
					prompts, f.Decoding, context, got, f)
			}
			if len(prompts) > 0 && f.Decoding > 0 {
				mixed++
			}
			if len(prompts) > 0 && prompts[0].Cached > 0 {
				chunked++
			}
		}
		if mixed == 0 || (settings[1] == "batching=sarathi") != (chunked > 0) {
			t.Errorf("%v: %d mixed steps, %d with chunks", settings, mixed, chunked)
		}
	}
}

// What changes an accelerator changes what it says and no more: reading weights takes as long as
// the bandwidth allows, more memory is room for keys and values, and arithmetic follows the peak.
func TestStepsOfAChangedAccelerator(t *testing.T) {
	var asked playground.Servers
	decode := func(settings ...string) *playground.Step {
		s, err := asked.Step(settings, nil, 8, 1000)
		testkit.OK(t, err)
		return s
	}
	plain := decode()
	rapid.Check(t, func(t *rapid.T) {
		factor := rapid.Float64Range(0.3, 3).Draw(t, "factor")
		faster := decode(fmt.Sprintf("hardware.bandwidth=%gGB/s", factor*plain.Bandwidth/1e9))
		if !alike(faster.Bandwidth, factor*plain.Bandwidth) ||
			math.Abs(faster.Parts.Weights*factor/plain.Parts.Weights-1) > 1e-3 ||
			faster.Bytes != plain.Bytes || faster.Memory != plain.Memory {
			t.Fatalf("%g times the bandwidth: %+v, want %+v", factor, faster, plain)
		}
		larger := decode(fmt.Sprintf("hardware.memory=%gGB", (1+factor)*plain.Memory.Capacity/1e9))
		more := 0.9 * factor * plain.Memory.Capacity
		if larger.Total != plain.Total || !alike(larger.Memory.KV, plain.Memory.KV+more) {
			t.Fatalf("%g times the memory: %+v, want %g more than %+v", 1+factor, larger.Memory,
				more, plain.Memory)
		}
		stronger := decode(fmt.Sprintf("hardware.peak=%gTFLOP/s", factor*plain.Peak/1e12))
		if !alike(stronger.Peak, factor*plain.Peak) || stronger.FLOP != plain.FLOP ||
			math.Abs(stronger.Parts.Weights/plain.Parts.Weights-1) > 1e-6 { // they are rounded
			t.Fatalf("%g times the FLOP/s: %+v, want %+v", factor, stronger, plain)
		}
	})
	for _, wrong := range []string{"hardware.bandwidth=fast", "hardware.memory=0GB",
		"hardware.peak=3TB/s", "hardware.speed=3TB/s"} {
		if _, err := asked.Step([]string{wrong}, nil, 1, 1); err == nil {
			t.Errorf("%s is no error", wrong)
		}
	}
	if _, err := playground.YAML([]string{"hardware.memory=100GB"}); err == nil {
		t.Error("a changed accelerator has a scenario file")
	}
}

// A step of a server that was asked for before takes less than a millisecond, so that a number that
// is dragged has its step in each picture.
func BenchmarkStep(b *testing.B) {
	var asked playground.Servers
	for i := 0; b.Loop(); i++ {
		if _, err := asked.Step(nil, nil, 1+i%256, 1000); err != nil {
			b.Fatal(err)
		}
	}
}

// A step of a server that was not asked for before.
func BenchmarkStepOfANewServer(b *testing.B) {
	for b.Loop() {
		var asked playground.Servers
		if _, err := asked.Step([]string{"hardware.bandwidth=3TB/s"}, nil, 8, 1000); err != nil {
			b.Fatal(err)
		}
	}
}
