package observed_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// The traffic of requests is their rate and the means over what was answered, and the report says
// the means of their latencies. Of runs without requests it is the load of the last.
func TestTrafficIsTheMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := observed.Run{Name: "a", Load: observed.Load{Prompt: 7, Output: 9}}
		var n, prompt, output, ttfts, ttft, e2es, e2e, tpots, tpot float64
		for range rapid.IntRange(1, 20).Draw(t, "n") {
			q := observed.Request{Arrival: times().Draw(t, "at"), Prompt: counts().Draw(t, "in"),
				Output: rapid.IntRange(1, 4).Draw(t, "out"), TTFT: times().Draw(t, "ttft"),
				Failed: rapid.Bool().Draw(t, "failed")}
			q.E2E = q.TTFT + rapid.SampledFrom([]float64{0, 0.5, 3}).Draw(t, "rest")
			r.Requests = append(r.Requests, q)
			if q.Failed {
				continue
			}
			n++
			prompt, output = prompt+float64(q.Prompt), output+float64(q.Output)
			ttft, e2e = ttft+q.TTFT, e2e+q.E2E
			if q.TTFT > 0 {
				ttfts++
			}
			if q.E2E > 0 {
				e2es++
			}
			if q.E2E > q.TTFT && q.Output > 1 && q.TTFT > 0 {
				tpots++
				tpot += (q.E2E - q.TTFT) / float64(q.Output-1)
			}
		}
		r.Sort()
		o := &observed.Observed{Runs: []observed.Run{{Name: "before",
			Load: observed.Load{Prompt: 1}}, r,
			{Name: "after", Load: observed.Load{Prompt: 2}}}}
		got := o.Traffic()
		near := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-9*(1+want) {
				t.Errorf("%s: %g, want %g", what, got, want)
			}
		}
		near("prompts", got.Prompt*n, prompt)
		near("answers", got.Output*n, output)
		near("rate", got.Rate*r.Requests[len(r.Requests)-1].Arrival,
			math.Min(1, r.Requests[len(r.Requests)-1].Arrival*1e300)*float64(len(r.Requests)-1))
		text := report(t, o)
		for name, sums := range map[string][2]float64{"TTFT": {ttft, ttfts}, "E2E": {e2e, e2es},
			"TPOT": {tpot, tpots}} {
			words := ", " + name + " "
			if said := strings.Contains(text, words); said != (sums[0] > 0) {
				t.Errorf("%s is said: %v\n%s", name, said, text)
			} else if said && !strings.Contains(text,
				words+units.FormatDuration(sums[0]/sums[1])) {
				t.Errorf("%s is not %g/%g:\n%s", name, sums[0], sums[1], text)
			}
		}
		o.Runs[1].Requests = nil
		if got := o.Traffic(); got != o.Runs[2].Load {
			t.Errorf("without requests the traffic is %+v", got)
		}
	})
}

func report(t *rapid.T, o *observed.Observed) string {
	var b strings.Builder
	testkit.OK(t, o.WriteText(&b))
	return b.String()
}

// The report says each thing that is known, and nothing of what is not: of the server, of a source,
// and of a run, whether it has requests, steps, intervals or figures.
func TestTheReportSaysWhatIsKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := &observed.Observed{Sources: []observed.Source{{File: "a.csv", Format: "csv",
			Found: "much"}},
			Runs: []observed.Run{{Name: "all"}}}
		s, r, known := &o.Server, &o.Runs[0], rapid.Bool()
		want := map[string]bool{"a.csv: csv": true, ": much\n": true, "run all: ": true}
		say := func(words string, set func()) {
			if want[words] = known.Draw(t, words); want[words] {
				set()
			}
		}
		say("vllm", func() { s.Engine = "vllm" })
		say("0.9.1", func() { s.Version = "0.9.1" })
		say("serves llama", func() { s.Model = "llama" })
		say("on h100", func() { s.GPU = "h100" })
		say("tensor parallelism 1", func() { s.Tensor = 1 })
		say("cache of 1 tokens", func() { s.CacheTokens = 1 })
		want["\nserver: "] = *s != (observed.Server{})
		say(" (v2)", func() { o.Sources[0].Version = "v2" })
		say("  note: careful\n", func() { o.Sources[0].Notes = []string{"careful"} })
		say("0.5/s", func() { r.Load.Rate = 0.5 })
		say("at most 1 in flight", func() { r.Load.Concurrency = 1 })
		say("1 tokens in, 4 out", func() { r.Load.Prompt, r.Load.Output = 1, 4 })
		say("1 steps", func() { r.Steps = []observed.Step{{Seconds: 1}} })
		say("1 intervals", func() { r.Intervals = []observed.Interval{{Seconds: 1}} })
		want["1 intervals"] = want["1 intervals"] && !want["1 steps"]
		f := &r.Summary
		f.TTFT50, f.TPOT50, f.E2E50 = 0.25, 0.25, 0.25
		for name, mean := range map[string]*float64{"TTFT": &f.TTFT, "TPOT": &f.TPOT,
			"E2E": &f.E2E} {
			say(", "+name+" 500 ms", func() { *mean = 0.5 })
			want["median "+name+" 250 ms"] = *mean == 0
		}
		text := strings.ReplaceAll(report(t, o), "run all: ", "run all: , ")
		for words, is := range want {
			if strings.Contains(text, words) != is {
				t.Errorf("%q is said: %v\n%s", words, !is, text)
			}
		}
		if strings.Contains(text, " \n") && !strings.Contains(text, "run all: , \n") {
			t.Errorf("a line ends with a space:\n%q", text)
		}
	})
}

// A scenario with the traffic of a load sends its requests, at its rate or as the users that it
// has, with its mean lengths: exact where their spread is not known, else within five deviations.
// What the cache had is a prefix of all prompts.
func TestLoadAsWorkload(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spread := rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "spread")
		l := observed.Load{Prompt: rapid.Float64Range(100, 5000).Draw(t, "prompt"),
			Output: rapid.Float64Range(10, 900).Draw(t, "output"), Requests: 500,
			PromptSpread: spread, OutputSpread: spread,
			Cached: rapid.SampledFrom([]float64{0, 0.4, 0.6, 64, 5000}).Draw(t, "cached"),
			Rate:   rapid.SampledFrom([]float64{0, 2.5}).Draw(t, "rate")}
		users := rapid.IntRange(0, 30).Draw(t, "users")
		l.Concurrency = users
		dir, err := os.MkdirTemp("", "load")
		testkit.OK(t, err)
		defer os.RemoveAll(dir)
		o := &observed.Observed{Runs: []observed.Run{{Name: "load", Load: l}}}
		testkit.OK(t, o.Save(dir))
		text := testkit.Read(t, filepath.Join(dir, "workload.yaml"))
		file, err := scenarios.Parse("s.yaml", append([]byte("model: llama-3.1-8b\n"+
			"hardware: h100-sxm\n"), text...))
		testkit.OK(t, err)
		simulation, err := file.Build(policies.Default())
		testkit.OK(t, err)
		source := simulation.Source
		defer source.Close()
		var n, together int
		var prompts, outputs float64
		for source.NextArrival() != sim.Never {
			var r sim.Request
			source.Next(&r)
			n++
			prompts, outputs = prompts+float64(r.Prompt), outputs+float64(r.Output)
			if r.Arrival == 0 {
				together++
			}
			if shared := math.Round(l.Cached); shared >= 1 && shared < l.Prompt &&
				float64(r.Prompt) <= shared {
				t.Errorf("a prompt of %d tokens has a prefix of %g", r.Prompt, shared)
			}
		}
		testkit.OK(t, source.Err())
		known := strings.Contains(string(text), "Only means are known")
		if known != (spread == 0) || strings.Contains(string(text), "prefix:") !=
			(l.Cached > 0.5 && l.Cached < l.Prompt) {
			t.Errorf("%+v:\n%s", l, text)
		}
		if l.Rate == 0 {
			if together != max(1, users) || n != together {
				t.Errorf("%d of %d requests come at once, want the %d users'", together, n, users)
			}
			return
		}
		if want := fmt.Sprintf("  rate: %g/s\n", l.Rate); !strings.Contains(string(text), want) ||
			n != l.Requests {
			t.Errorf("%d requests, want %d:\n%s", n, l.Requests, text)
		}
		far := 5*spread/math.Sqrt(float64(n)) + 1e-3
		if math.Abs(prompts/float64(n)-l.Prompt) > far*l.Prompt+1 ||
			math.Abs(outputs/float64(n)-l.Output) > far*l.Output+0.51 {
			t.Errorf("mean lengths of %g and %g, want %g and %g", prompts/float64(n),
				outputs/float64(n), l.Prompt, l.Output)
		}
	})
}
