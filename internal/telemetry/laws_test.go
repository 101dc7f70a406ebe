package telemetry

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// gathered returns the metrics of a gatherer by family, with the labels but the model's.
func gathered(t testkit.Test, g Gatherer) map[string]*dto.Metric {
	families, err := g.Gather()
	testkit.OK(t, err)
	all := map[string]*dto.Metric{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				if l.GetName() != "model_name" {
					name += " " + l.GetName() + "=" + l.GetValue()
				}
			}
			if all[name] != nil {
				t.Fatal(name, "is there twice")
			}
			all[name] = m
		}
	}
	return all
}

// Whatever requests end, each histogram has as many values as ended, their sum, and in each bucket
// the ones that are at most its bound; counters have the sums of their tokens; and requests end
// by stop, by length, aborted or failed.
func TestHistogramsHoldTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var asked []Parameters
		prefixes := rapid.Bool().Draw(t, "prefixes")
		engines := []Engine{{Context: 4000, Prefixes: prefixes, Block: 16, Units: 100},
			{Context: 70,
				Drafts: true}}
		c := New(vllm(), engines, func(r *sim.Request) Parameters { return asked[r.ID] })
		values, sums, ends := map[string][]float64{}, map[string]int{}, map[string]int{}
		took := func() sim.Time {
			return sim.Time(rapid.Int64Range(0, 1e4).Draw(t,
				"ms")) * sim.Millisecond
		}
		for i := range rapid.IntRange(1, 20).Draw(t, "requests") {
			s := &sim.Sequence{Latency: took()}
			s.ID, s.Arrival = int64(i), took()
			s.Scheduled = s.Arrival + took()
			s.FirstToken = s.Scheduled + took()
			s.Output, s.LastToken = rapid.IntRange(1, 3).Draw(t, "output"), s.FirstToken
			s.Prompt = rapid.IntRange(1, 6000).Draw(t, "prompt")
			s.Cached = rapid.IntRange(0, s.Prompt-1).Draw(t, "cached")
			s.Preemptions, s.Accepted = rapid.IntRange(0, 2).Draw(t, "preempted"), i
			p := Parameters{MaxTokens: rapid.IntRange(0, 4).Draw(t, "most"),
				N: rapid.IntRange(0, 2).Draw(t, "n"), Complete: rapid.Bool().Draw(t, "complete"),
				Finish: rapid.SampledFrom([]string{"stop", "length"}).Draw(t, "finish")}
			asked = append(asked, p)
			if why := rapid.SampledFrom([]sim.Rejection{-1, sim.Cancelled, sim.TimedOut, sim.Lost,
				sim.Unavailable, sim.Refused}).Draw(t, "rejected"); why >= 0 {
				c.Rejected(&s.Request, why)
				if how := map[sim.Rejection]string{sim.Cancelled: "abort", sim.TimedOut: "abort",
					sim.Lost: "error", sim.Unavailable: "error"}[why]; !p.Complete {
					ends[how]++
				}
				continue
			}
			put := func(name string, v float64) { values[name] = append(values[name], v) }
			begun := func() {
				put("time_to_first_token_seconds", s.TTFT().Seconds())
				put("request_prefill_kv_computed_tokens", float64(s.Prompt-s.Cached))
				sums["prompt_tokens_total"] += s.Prompt
				sums["prompt_tokens_cached_total"] += s.Cached
				sums["prefix_cache_hits_total"] += s.Cached
				if prefixes {
					sums["prefix_cache_queries_total"] += s.Prompt
				}
			}
			if s.Output > 1 {
				s.LastToken += took()
				put("request_time_per_output_token_seconds", s.TPOT().Seconds())
				again := s.Preemptions > 0 && rapid.Bool().Draw(t, "computed again")
				at := s.FirstToken
				if again {
					at++
					sums["prompt_tokens_recomputed_total"] += s.Prompt
				} else {
					begun()
				}
				c.Steps(&sim.Leap{Steps: 1, End: at, Prefill: []sim.Chunk{{Last: true,
					Sequence: s}}})
				sums["generation_tokens_total"]++
			} else {
				begun()
			}
			c.Finished(s)
			ends[p.Finish]++
			sums["num_preemptions_total"] += s.Preemptions
			sums["generation_tokens_total"] += s.Accepted
			put("e2e_request_latency_seconds", s.E2E().Seconds())
			put("request_queue_time_seconds", (s.Scheduled - s.Arrival).Seconds())
			put("request_inference_time_seconds", (s.LastToken - s.Scheduled).Seconds())
			put("request_prefill_time_seconds", (s.FirstToken - s.Scheduled).Seconds())
			put("request_decode_time_seconds", (s.LastToken - s.FirstToken).Seconds())
			put("request_prompt_tokens", float64(s.Prompt))
			put("request_generation_tokens", float64(s.Output))
			put("request_max_num_generation_tokens", float64(max(s.Output, p.MaxTokens)))
			put("request_params_n", float64(max(1, p.N)))
			if p.MaxTokens > 0 {
				put("request_params_max_tokens", float64(p.MaxTokens))
			}
		}
		got := gathered(t, c.All())
		for how := range endings {
			name := fmt.Sprintf("vllm:request_success_total engine=0 finished_reason=%s", how)
			if n := got[name].GetCounter().GetValue(); n != float64(ends[how.String()]) {
				t.Errorf("%s: %g, want %d", name, n, ends[how.String()])
			}
		}
		for name, sum := range sums {
			if n := got["vllm:"+name+" engine=0"].GetCounter().GetValue(); n != float64(sum) {
				t.Errorf("%s: %g, want %d", name, n, sum)
			}
		}
		for name, list := range values {
			h, sum := got["vllm:"+name+" engine=0"].GetHistogram(), 0.0
			for _, v := range list {
				sum += v
			}
			if h.GetSampleCount() != uint64(len(list)) ||
				math.Abs(h.GetSampleSum()-sum) > 1e-9*(1+sum) {
				t.Errorf("%s: %d values with a sum of %g, want %d with %g", name,
					h.GetSampleCount(),
					h.GetSampleSum(), len(list), sum)
			}
			last := math.Inf(-1)
			for _, b := range h.Bucket {
				below := 0
				for _, v := range list {
					if v <= b.GetUpperBound() {
						below++
					}
				}
				if b.GetCumulativeCount() != uint64(below) || b.GetUpperBound() <= last {
					t.Errorf("%s: %d values up to %g, want %d", name, b.GetCumulativeCount(),
						b.GetUpperBound(), below)
				}
				last = b.GetUpperBound()
			}
		}
	})
}

// Buckets of lengths are 1, 2 and 5 times the powers of ten, up to the context.
func TestOneTwoFive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(0, 300_000).Draw(t, "context")
		var want []float64
		for n := 1; n <= most; n++ {
			if digits := strings.TrimRight(fmt.Sprint(n), "0"); digits == "1" || digits == "2" ||
				digits == "5" {
				want = append(want, float64(n))
			}
		}
		if got := oneTwoFive(most); !slices.Equal(got, want) {
			t.Errorf("up to %d: %v, want %v", most, got, want)
		}
	})
}

// A gauge shows the last state. Only shows one replica as if it were alone, All every one by its
// number, and Up the ones that are up; drafts are counted where tokens are drafted.
func TestStatesOfReplicas(t *testing.T) {
	for _, d := range Dialects() {
		rapid.Check(t, func(t *rapid.T) {
			n := rapid.IntRange(1, 4).Draw(t, "replicas")
			engines, states := make([]Engine, n), make([]sim.State, n)
			c := New(DialectOf(d), engines, nil)
			up := 0
			for i := range engines {
				states[i] = sim.State{Up: rapid.Bool().Draw(t, "up"), Running: i + 1,
					Waiting: 2 * i,
					Used:    3, Capacity: int64(10 + i)}
				c.engines[i].Block, c.engines[i].Drafts = 4, i%2 == 0
				c.Sampled(sim.Time(i)*sim.Second, i, states[i])
				if states[i].Up {
					up++
				}
			}
			label := map[string]string{"vllm": " engine=%d", "sglang": " dp_rank=%d engine_type=" +
				"unified pp_rank=0 tp_rank=0"}[d]
			check := func(g Gatherer, number, i int) {
				all, at := gathered(t, g), fmt.Sprintf(label, number)
				want := map[string]float64{"vllm:num_requests_running": float64(i + 1),
					"vllm:num_requests_waiting": float64(2 * i),
					"vllm:kv_cache_usage_perc":  3 / float64(10+i)}
				if d == "sglang" {
					want = map[string]float64{"sglang:num_running_reqs": float64(i + 1),
						"sglang:num_queue_reqs": float64(2 * i), "sglang:num_used_tokens": 12,
						"sglang:max_total_num_tokens": float64(40 + 4*i),
						"sglang:token_usage":          3 / float64(10+i)}
				} else if drafts := all["vllm:spec_decode_num_drafts_total"+at] != nil; drafts !=
					(i%2 == 0) {
					t.Errorf("replica %d has drafts: %v", i, drafts)
				} else if info := fmt.Sprintf("vllm:cache_config_info block_size=4 "+
					"enable_prefix_caching="+
					"False engine=%d num_gpu_blocks=%d", number, 10+i); all[info] == nil {
					t.Errorf("no %s", info)
				}
				for name, v := range want {
					if m := all[name+at]; m.GetGauge().GetValue() != v {
						t.Errorf("%s is %v, want %g", name+at, m, v)
					}
				}
			}
			running := map[string]string{"vllm": "vllm:num_requests_running",
				"sglang": "sglang:num_running_reqs"}[d]
			count := func(g Gatherer) (n int) {
				for name := range gathered(t, g) {
					if strings.HasPrefix(name, running+" ") {
						n++
					}
				}
				return n
			}
			for i := range engines {
				check(c.Only(i), 0, i)
				check(c.All(), i, i)
			}
			if a, b, o := count(c.All()), count(c.Up()), count(c.Only(0)); a != n || b != up ||
				o != 1 {
				t.Errorf("%d replicas, %d are up: %d, %d and %d are shown", n, up, a, b, o)
			}
		})
	}
}

// However long a run is, its history has a bounded number of snapshots, from its first moment on,
// none of them twice as far apart as they come now.
func TestHistoryIsThinned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		replicas := rapid.SampledFrom([]int{1, 20, 1000}).Draw(t, "replicas")
		h := NewHistory(make([]Engine, replicas))
		most := max(2000/replicas, 50)
		h.dialect.families = func() []family { return nil }
		n := rapid.IntRange(1, 3*most).Draw(t, "samples")
		for i := range n {
			h.Sampled(sim.Time(i)*5*sim.Second, replicas-1, sim.State{Up: true})
			h.Sampled(sim.Time(i)*5*sim.Second+1, replicas-1, sim.State{Up: true})
		}
		if len(h.seen) >= most || len(h.seen) < min(n, most/2) || h.seen[0].at != 0 {
			t.Errorf("%d snapshots of %d, at most %d", len(h.seen), n, most)
		}
		for i := range h.seen[1:] {
			if gap := h.seen[i+1].at - h.seen[i].at; gap%(5*sim.Second) != 0 || gap <= 0 ||
				gap > 2*h.every {
				t.Errorf("snapshot %d of %d comes %v after the one before, every %v", i+1,
					len(h.seen),
					gap.Seconds(), h.every.Seconds())
			}
		}
	})
}

// The history ends with the last state, at the time of the simulation after its start.
func TestHistoryEndsWithTheLastState(t *testing.T) {
	h := NewHistory([]Engine{{Model: "m"}})
	for i, at := range []sim.Time{0, 5 * sim.Second, 7 * sim.Second} {
		h.Sampled(at, 0, sim.State{Up: true, Running: i + 1})
	}
	var b strings.Builder
	testkit.OK(t, h.WriteOpenMetrics(&b, time.Unix(100, 0)))
	want := "{engine=\"0\",model_name=\"m\"} 1.0 100.0\n" +
		"vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 2.0 105.0\n" +
		"vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0 107.0\n# HELP"
	if !strings.Contains(b.String(), want) {
		t.Errorf("%.600s\nwant %s", b.String(), want)
	}
}

// Tokens come out of steps and of accepted drafts, of which the last step of a request may have
// more than its answer takes.
func TestTokensOfDrafts(t *testing.T) {
	file, err := scenarios.Load("speculation-on", "workload.requests=60")
	testkit.OK(t, err)
	simulation, err := file.Build(policies.Default())
	testkit.OK(t, err)
	config := simulation.Config()
	c := New(vllm(), Engines(&config, simulation.Models()), nil)
	result, err := simulation.Run(t.Context(), c)
	testkit.OK(t, err)
	got := values(t, c)
	more := got["vllm:generation_tokens_total"] - float64(result.TotalOutputTokens)
	if longest := result.DraftTokens / result.Drafts; more < 0 ||
		more > float64(result.Completed*longest) {
		t.Errorf("%g tokens more than the answers have", more)
	}
	for name, want := range map[string]int64{
		"spec_decode_num_drafts_total":          result.Drafts,
		"spec_decode_num_draft_tokens_total":    result.DraftTokens,
		"spec_decode_num_accepted_tokens_total": result.AcceptedTokens} {
		if got["vllm:"+name] != float64(want) {
			t.Errorf("%s: %g, want %d", name, got["vllm:"+name], want)
		}
	}
}

// Families of one name are one family, with the metrics of each, wherever they come in the list.
func TestFamiliesOfANameAreJoined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 1, 6).Draw(t, "names")
		engines := rapid.IntRange(1, 3).Draw(t, "engines")
		var list []family
		var runs []string
		for i, name := range names {
			f := family{name: name, value: func(*engine) any { return int64(i) }}
			f.labels = []string{"number", fmt.Sprint(i)}
			list = append(list, f)
			if i == 0 || names[i-1] != name {
				runs = append(runs, name)
			}
		}
		c := New(sglang(), make([]Engine, engines), nil)
		c.dialect.families = func() []family { return list }
		families, err := c.All().Gather()
		testkit.OK(t, err)
		var got []string
		next := 0
		for _, f := range families {
			got = append(got, f.GetName())
			for k, m := range f.Metric {
				if want := next + k/engines; m.GetCounter().GetValue() != float64(want) {
					t.Errorf("metric %d of %s is %v, want %d", k, f.GetName(), m, want)
				}
			}
			next += len(f.Metric) / engines
		}
		if !slices.Equal(got, runs) || next != len(names) {
			t.Errorf("%q with %d families become %q with %d", names, len(names), got, next)
		}
	})
}

// sizedMemory is a memory of units of block tokens.
type sizedMemory struct {
	sim.Memory
	block, capacity int64
}

// Units implements sim.Memory.
func (m sizedMemory) Units(tokens int) int64 {
	if m.block == 0 {
		return 0
	}
	return (int64(tokens) + m.block - 1) / m.block
}

// Capacity implements sim.Memory.
func (m sizedMemory) Capacity() int64 { return m.capacity }

// keptMemory is a memory that keeps prefixes.
type keptMemory struct{ sizedMemory }

// Forget implements sim.Forgetter.
func (keptMemory) Forget() {}

// An engine has the blocks and the context of its replica; where no context is given, all that the
// memory holds, up to 2^20 tokens. It has prefixes where the memory can forget, and drafts where
// there is a speculator.
func TestEnginesAreTheReplicas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c sim.Config
		var want []Engine
		models := []string{"m", "n"}
		for range rapid.IntRange(1, 4).Draw(t, "replicas") {
			m := sizedMemory{block: int64(1) << rapid.IntRange(0, 6).Draw(t, "block"),
				capacity: rapid.Int64Range(0, 1<<18).Draw(t, "capacity")}
			e := Engine{Block: int(m.block), Units: m.capacity,
				Context:  rapid.SampledFrom([]int{0, 1, 4096}).Draw(t, "context"),
				Prefixes: rapid.Bool().Draw(t, "prefixes")}
			r := sim.ReplicaConfig{Memory: m, MaxContext: e.Context,
				Model: rapid.IntRange(0, 1).Draw(t, "model")}
			if rapid.IntRange(0, 4).Draw(t, "no units") == 0 {
				m.block, e.Block = 0, 1
				r.Memory = m
			}
			if e.Prefixes {
				r.Memory = keptMemory{m}
			}
			if e.Model = models[r.Model]; e.Context == 0 {
				e.Context = min(int(m.capacity)*e.Block, 1<<20)
			}
			c.Replicas, want = append(c.Replicas, r), append(want, e)
		}
		if got := Engines(&c, models); !slices.Equal(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// Each series of a saved history begins with the year 2026, and its times grow: the last state is
// written once, also where it was just remembered.
func TestTimesOfHistoriesGrow(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		h := NewHistory(make([]Engine, 1))
		at := sim.Time(0)
		var want []float64
		for i := range rapid.IntRange(1, 6).Draw(t, "samples") {
			if i > 0 {
				at += sim.Time(rapid.IntRange(1, 12).Draw(t, "s")) * sim.Second
			}
			h.Sampled(at, 0, sim.State{Up: true, Running: i + 1})
			if n := len(h.seen); h.seen[n-1].at == at && len(want) < n {
				want = append(want, 1767225600+at.Seconds())
			}
		}
		if end := 1767225600 + at.Seconds(); want[len(want)-1] != end {
			want = append(want, end)
		}
		path := filepath.Join(dir, "history")
		testkit.OK(t, h.Save(path))
		text, err := os.ReadFile(path)
		testkit.OK(t, err)
		got := map[string][]float64{}
		for line := range strings.Lines(string(text)) {
			if series, rest, found := strings.Cut(line, "} "); found && line[0] != '#' {
				var value, at float64
				_, err := fmt.Sscan(rest, &value, &at)
				testkit.OK(t, err)
				got[series] = append(got[series], at)
			}
		}
		for series, times := range got {
			if !slices.Equal(times, want) {
				t.Errorf("%s at %v, want %v", series, times, want)
			}
		}
		if len(got) == 0 {
			t.Errorf("nothing in %s", text)
		}
	})
}
