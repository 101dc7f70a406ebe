package observed_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// times and counts draw values that may be observed.
func times() *rapid.Generator[float64]  { return rapid.Float64Range(0, 1e6) }
func counts() *rapid.Generator[int]     { return rapid.IntRange(0, 1<<20) }
func words() *rapid.Generator[string]   { return rapid.StringMatching(`[a-z <&"é]{1,12}`) }
func dates() *rapid.Generator[string]   { return rapid.StringMatching(`20[0-9]{2}-0[1-9]-0[1-9]`) }
func lists() *rapid.Generator[[]string] { return rapid.SliceOfNDistinct(words(), 1, 4, rapid.ID) }

// figures draws the figures of a run.
func figures(t *rapid.T) observed.Figures {
	return observed.Figures{TTFT: times().Draw(t, "ttft"), TPOT50: times().Draw(t, "tpot50"),
		E2E99: times().Draw(t, "e2e99"), OutputRate: times().Draw(t, "rate")}
}

// run draws a run of requests, steps, intervals, or figures only.
func run(t *rapid.T) observed.Run {
	r := observed.Run{Name: words().Draw(t, "name"), Date: dates().Draw(t, "date")}
	kind := rapid.SampledFrom([]string{"requests", "steps", "intervals", "figures"}).Draw(t, "kind")
	for range rapid.IntRange(1, 20).Draw(t, "n") {
		switch kind {
		case "requests":
			r.Requests = append(r.Requests, observed.Request{Arrival: times().Draw(t, "at"),
				Prompt: counts().Draw(t, "in"), Output: counts().Draw(t, "out"),
				TTFT: times().Draw(t, "ttft"), E2E: times().Draw(t, "e2e"),
				Failed: rapid.Bool().Draw(t, "failed")})
		case "steps":
			r.Steps = append(r.Steps, observed.Step{Decodes: counts().Draw(t, "decodes"),
				PrefillTokens: counts().Draw(t, "prompts"), Seconds: times().Draw(t, "s")})
		case "intervals":
			r.Intervals = append(r.Intervals, observed.Interval{At: times().Draw(t, "at"),
				Seconds: times().Draw(t, "s"), Requests: times().Draw(t, "requests"),
				Figures: figures(t)})
		case "figures":
			r.Load = observed.Load{Rate: times().Draw(t, "rate"), Prompt: times().Draw(t, "in")}
			r.Summary = figures(t)
		}
	}
	r.Sort()
	return r
}

// whole draws what was observed of a deployment.
func whole(t *rapid.T) *observed.Observed {
	o := &observed.Observed{Lacks: lists().Draw(t, "lacks"), Server: observed.Server{
		Model: words().Draw(t, "model"), CacheTokens: counts().Draw(t, "cache")}}
	for range rapid.IntRange(1, 4).Draw(t, "runs") {
		o.Runs = append(o.Runs, run(t))
		o.Sources = append(o.Sources, observed.Source{File: words().Draw(t, "file"),
			Format: "csv", Found: words().Draw(t, "found")})
	}
	return o
}

// What is saved is read again as it was, from the folder or from its file.
func TestSavedAndOpened(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o, dir := whole(rt), t.TempDir()
		if err := o.Save(dir); err != nil {
			rt.Fatal(err)
		}
		for _, path := range []string{dir, filepath.Join(dir, observed.MainFile)} {
			got, err := observed.Open(files.Disk{}, path)
			if err != nil {
				rt.Fatal(err)
			}
			if !reflect.DeepEqual(got, o) {
				rt.Fatalf("read %+v, wrote %+v", got, o)
			}
		}
	})
}

// Whatever byte of the file is changed, it is refused, or says the same.
func TestAChangedByteIsFound(t *testing.T) {
	o, dir := &observed.Observed{Lacks: []string{"steps"}, Runs: []observed.Run{{Name: "a",
		Requests: []observed.Request{{Arrival: 1, Prompt: 10, Output: 20, TTFT: 0.5, E2E: 1}}}},
		Sources: []observed.Source{{File: "a.csv", Format: "csv", Found: "1 request"}}}, t.TempDir()
	testkit.OK(t, o.Save(dir))
	path := filepath.Join(dir, observed.MainFile)
	testkit.Changed(t, testkit.Read(t, path), func(text []byte) (*observed.Observed, error) {
		testkit.OK(t, os.WriteFile(path, text, 0o666))
		return observed.Open(files.Disk{}, path)
	})
}

// What files say together does not depend on their order, where they do not contradict each other.
func TestSourcesInAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOfN(rapid.Custom(whole), 2, 4).Draw(rt, "parts")
		for i, p := range parts {
			if p.Server = (observed.Server{}); i == 0 {
				p.Server = observed.Server{Engine: "vllm", Tensor: 2}
			}
		}
		join := func(list []*observed.Observed) *observed.Observed {
			all := &observed.Observed{}
			for _, p := range list {
				all.Add(p)
			}
			slices.SortFunc(all.Runs, func(a, b observed.Run) int {
				return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
			})
			slices.SortFunc(all.Sources, func(a, b observed.Source) int {
				return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
			})
			return all
		}
		a, b := join(parts), join(rapid.Permutation(parts).Draw(rt, "order"))
		if !reflect.DeepEqual(a, b) || a.Date() != b.Date() {
			rt.Fatalf("found %+v in one order, %+v in another", a, b)
		}
		for _, p := range parts {
			for _, lack := range p.Lacks {
				if !slices.Contains(a.Lacks, lack) {
					rt.Fatalf("%q is not said to be lacking", lack)
				}
			}
		}
	})
}

// One value that is no quantity is refused, with the run and the entry that has it.
func TestValuesOutOfRange(t *testing.T) {
	bad := []float64{math.NaN(), math.Inf(1), -1e-9, 2e15}
	rapid.Check(t, func(rt *rapid.T) {
		o := whole(rt)
		if err := o.Check(); err != nil {
			rt.Fatal(err)
		}
		n := rapid.IntRange(0, len(o.Runs)-1).Draw(rt, "run")
		r, v := &o.Runs[n], rapid.SampledFrom(bad).Draw(rt, "value")
		spoilers := []func(){func() { r.Summary.E2E50 = v }, func() { r.Load.Seconds = v },
			func() { r.Load.Concurrency = -1 }}
		for i := range r.Requests {
			q := &r.Requests[i]
			spoilers = append(spoilers, func() { q.TTFT = v }, func() { q.Arrival = v },
				func() { q.Sent = v }, func() { q.Output = -1 }, func() { q.Prompt = 1<<30 + 1 })
		}
		for i := range r.Steps {
			spoilers = append(spoilers, func() { r.Steps[i].Seconds = v },
				func() { r.Steps[i].DecodeKV = -1 })
		}
		for i := range r.Intervals {
			spoilers = append(spoilers, func() { r.Intervals[i].Requests = v },
				func() { r.Intervals[i].TTFT99 = v })
		}
		rapid.SampledFrom(spoilers).Draw(rt, "spoiled")()
		err := o.Check()
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("run %d", n)) {
			rt.Fatalf("the error is %v, want one that names run %d", err, n)
		}
	})
}

// A file that is not one of ours is refused with its path, and with what is wrong in it.
func TestFilesThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "not written by llmsim twin observe",
		"[]":                               "not written by llmsim twin observe",
		`{"runs":[{"name":"a","spam":1}]}`: "spam",
		`{"runs":[],"runs":[]}`:            "twice",
		`{"server":{"cache_tokens":-5}}`:   "negative",
		`{"runs":[{"name":"a","steps":[{"s":-1}]}]}`: "run 0 (a): step 0",
		`{"runs":[{"name":"a","requests":[{"at":2},{"at":1}]}]}`: "an arrival at 1 s after " +
			"one at 2 s",
	} {
		path := filepath.Join(t.TempDir(), "o.json")
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := observed.Open(files.Disk{}, path)
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error is %v, want one with %q and the path", text, err, want)
		}
	}
	_, err := observed.Open(files.Disk{}, filepath.Join(t.TempDir(), "none"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: the error is %v", err)
	}
}

// A scenario that takes the saved traffic sends the answered requests of the last run that has any,
// to a microsecond.
func TestTrafficAsWorkload(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o, dir := whole(rt), t.TempDir()
		if err := o.Save(dir); err != nil {
			rt.Fatal(err)
		}
		var want []observed.Request
		for i := range o.Runs {
			if r := &o.Runs[i]; len(r.Requests) > 0 {
				want = slices.DeleteFunc(slices.Clone(r.Requests), func(q observed.Request) bool {
					return q.Failed
				})
			}
		}
		if len(want) == 0 {
			return
		}
		got := requests(t, filepath.Join(dir, observed.TraceFile))
		if len(got) != len(want) {
			rt.Fatalf("the workload has %d requests, want %d", len(got), len(want))
		}
		for i, q := range want {
			// a trace begins with its first request
			at := (got[i].Arrival - got[0].Arrival).Seconds()
			if math.Abs(at-(q.Arrival-want[0].Arrival)) > 2e-6 ||
				got[i].Prompt != max(1, q.Prompt) || got[i].Output != max(1, q.Output) {
				rt.Fatalf("request %d is %+v, want %+v", i, got[i], q)
			}
		}
	})
}

// requests returns the requests of a scenario with a trace.
func requests(t *testing.T, trace string) (list []sim.Request) {
	t.Helper()
	file, err := scenarios.Parse("s.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\n"+
		"workload: {trace: "+trace+"}\n"))
	testkit.OK(t, err)
	simulation, err := file.Build(policies.Default())
	testkit.OK(t, err)
	source := simulation.Source
	defer source.Close()
	for source.NextArrival() != sim.Never {
		var r sim.Request
		source.Next(&r)
		list = append(list, r)
	}
	testkit.OK(t, source.Err())
	return list
}

// The report has a line for each source and lack, and at most forty for runs, and says how many
// more there are.
func TestReportIsBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := whole(rt)
		o.Runs = slices.Repeat(o.Runs, rapid.IntRange(1, 100).Draw(rt, "times"))
		var b strings.Builder
		if err := o.WriteText(&b); err != nil {
			rt.Fatal(err)
		}
		text := "\n" + b.String()
		n, shown := len(o.Runs), strings.Count(text, "\nrun ")
		if shown != min(n, 40) ||
			strings.Contains(text, fmt.Sprintf("\nand %d more runs\n", n-40)) != (n > 40) ||
			strings.Count(text, "\nlacks: ") != len(o.Lacks) {
			rt.Fatalf("of %d runs and %q:\n%s", n, o.Lacks, text)
		}
	})
}

// Requests that are counted from the first are in order, begin at 0 and keep the gaps between their
// arrivals, whatever order they were in.
func TestArrivalsAreCountedFromTheFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.SliceOfN(rapid.IntRange(0, 1<<40), 1, 20).Draw(t, "arrivals")
		var r observed.Run
		for _, x := range at {
			r.Requests = append(r.Requests, observed.Request{Arrival: float64(x)})
		}
		r.FromFirst()
		slices.Sort(at)
		for i := range at {
			if got, want := r.Requests[i].Arrival, float64(at[i]-at[0]); got != want {
				t.Fatalf("request %d arrives at %g, want %g", i, got, want)
			}
		}
	})
}
