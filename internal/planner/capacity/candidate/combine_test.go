package candidate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

const steady = `
model: llama-3.1-8b
workload: {rate: 95/s, prompt: 300, output: 40}
slo: {ttft: 1s, tpot: 60ms, percentile: 90}
menu: {hardware: [h100-sxm], tensor: [1]}
`

// optionsOf returns the options of a plan, given overrides of a small one.
func optionsOf(t *testing.T, overrides ...string) (*asked.File, []*Option) {
	t.Helper()
	f, err := asked.Parse("plan.yaml", []byte(steady), overrides...)
	testkit.OK(t, err)
	list, err := Options(f)
	testkit.OK(t, err)
	for i, o := range list {
		if o.Index != i {
			t.Fatalf("option %d has the number %d", i, o.Index)
		}
	}
	return f, list
}

// labels names all options.
func labels(f *asked.File, list []*Option) []string {
	var names []string
	for _, o := range list {
		names = append(names, o.Label(&f.Plan.Menu))
	}
	return names
}

// Every value of each list of a menu is combined with every value of the others, those of the first
// list varying slowest, and makes its choice in the scenario. What the menu leaves open stays as
// the plan's engine has it.
func TestOptionsAreAllCombinations(t *testing.T) {
	f, list := optionsOf(t, "menu.hardware=[h100-sxm, {accelerator: l40s, price: $1/h, "+
		"network: infiniband-ndr, link: pcie-4, per-node: 4, round-trip: 30ms}]",
		"menu.tensor=[1, 2]", "menu.pipeline=[1, 3]", "menu.engines=[vllm, sglang]",
		"menu.weights=[bf16, fp8]", "menu.kv-cache=[bf16, fp8]",
		"menu.memory=[paged, prefix-cache]",
		"menu.batching=[{max-sequences: 64}, {max-sequences: 256}]",
		"menu.speculation=[{method: eagle, tokens: 3, acceptance: 0.7}, "+
			"{method: n-gram, acceptance: 0.5}]", "menu.routing=[round-robin, random]",
		"max-model-len=4096", "engine.max-model-len=2048")
	at := 0
	for k, shapes := range [][]string{
		{"1 × h100-sxm", "3 × h100-sxm (pipeline 3)", "2 × h100-sxm",
			"6 × h100-sxm (tensor 2, pipeline 3)"},
		{"1 × l40s", "3 × l40s (pipeline 3)", "2 × l40s", "6 × l40s (tensor 2, pipeline 3)"},
	} {
		for i, shape := range shapes {
			for n := range 192 {
				place := combin.SubFor(nil, n, []int{2, 2, 2, 2, 2, 3, 2})
				choice := func(p int, words ...string) string { return words[place[p]] }
				o := list[at]
				at++
				want := strings.Join([]string{shape, choice(0, "vllm", "sglang"),
					choice(1, "bf16", "fp8"), choice(2, "KV bf16", "KV fp8"),
					choice(3, "paged", "prefix-cache"),
					choice(4, "max-sequences:64", "max-sequences:256"),
					choice(5, "no drafts", "eagle of 3", "n-gram"),
					choice(6, "round-robin", "random")}, ", ")
				if got := o.Label(&f.Plan.Menu); got != want || o.Shape() != shape {
					t.Fatalf("option %d is %q of %q, want %q", at-1, got, o.Shape(), want)
				}
				s := o.Scenario(&f.Plan.Menu, 1+n%3, 1.5)
				gpus := []int{1, 3, 2, 6}[i]
				method := ""
				if d := s.Speculation; d != nil {
					if method = d.Method; d.Baseline != "skip" {
						t.Fatalf("%s is simulated without drafts too", method)
					}
				}
				if s.Parallelism.Accelerators() != gpus || o.GPUs != gpus || o.Prefills != 1 ||
					s.Engine.Preset != choice(0, "vllm", "sglang") ||
					s.Engine.Weights != choice(1, "bf16", "fp8") ||
					s.Engine.KVCache != choice(2, "bf16", "fp8") ||
					s.Memory.Policy != choice(3, "paged", "prefix-cache") ||
					s.Batching.Params["max-sequences"] != choice(4, "64", "256") ||
					method != choice(5, "", "eagle", "n-gram") ||
					s.Routing.Policy != choice(6, "round-robin", "random") ||
					s.Engine.MaxModelLen != 4096 || s.Engine.Slowdown != 1.5 ||
					max(1, s.Replicas) != 1+n%3 || len(s.Fleet.Pools) > 0 || s.Replicas == 1 {
					t.Fatalf("option %s has the scenario %+v", want, s)
				}
				h := s.Hardware
				if k == 0 && (h.Accelerator != "h100-sxm" || h.PerNode != 0) || k == 1 &&
					(h.Accelerator != "l40s" || h.Network != "infiniband-ndr" || h.PerNode != 4 ||
						h.Link != "pcie-4" || h.Price.Amount != 1 || s.Fleet.RoundTrip == 0) {
					t.Fatalf("option %s is of %+v", want, h)
				}
			}
		}
	}
	if at != len(list) {
		t.Fatalf("%d options, want %d", len(list), at)
	}
	_, list = optionsOf(t, "engine={preset: sglang, weights: fp8, kv-cache: fp8, "+
		"max-model-len: 2048}")
	if e := list[0].Scenario(&f.Plan.Menu, 1, 1).Engine; len(list) != 1 || e.Preset != "sglang" ||
		e.Weights != "fp8" || e.KVCache != "fp8" || e.MaxModelLen != 2048 {
		t.Errorf("the only one of %d options has the engine %+v", len(list), e)
	}
}

// Experts are split over the accelerators of a stage or spread over them, which is the same on one;
// beside data-parallel attention they are spread.
func TestExpertsAreSplitOrSpread(t *testing.T) {
	mixture := []string{"model=mixtral-8x7b", "menu.tensor=[1, 2]", "menu.data=[1, 2]"}
	for _, c := range []struct {
		with []string
		want []string
	}{
		{mixture, []string{"1 × h100-sxm", "2 × h100-sxm (data 2)", "2 × h100-sxm",
			"2 × h100-sxm (tensor 2, expert 2)", "4 × h100-sxm (tensor 2, data 2)"}},
		{append(slices.Clone(mixture), "menu.expert=[1, 4]"), []string{"1 × h100-sxm",
			"1 × h100-sxm (expert 4)", "2 × h100-sxm (data 2, each expert split)",
			"2 × h100-sxm (data 2, expert 4)", "2 × h100-sxm",
			"2 × h100-sxm (tensor 2, expert 4)",
			"4 × h100-sxm (tensor 2, data 2, each expert split)",
			"4 × h100-sxm (tensor 2, data 2, expert 4)"}},
		{append(slices.Clone(mixture[:2]), "menu.expert=[1]"), []string{"1 × h100-sxm",
			"2 × h100-sxm"}},
		{[]string{"menu.tensor=[1, 2]", "menu.data=[1]", "menu.expert=[1]"},
			[]string{"1 × h100-sxm", "2 × h100-sxm"}},
	} {
		f, list := optionsOf(t, c.with...)
		if got := labels(f, list); !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.with, got, c.want)
		}
	}
	f, list := optionsOf(t, mixture...)
	for i, want := range []int{0, 0, 0, 2, 0} {
		if got := list[i].Scenario(&f.Plan.Menu, 1, 1).Parallelism.Expert; got != want {
			t.Errorf("option %d has the degree %d, want %d", i, got, want)
		}
	}
}

// Groups come after the replicas that do both, for each pair of servers every number of either
// kind. A list that one side has is its own; what neither has is chosen for both at once.
func TestGroupsAreAllCombinations(t *testing.T) {
	f, list := optionsOf(t, "menu.tensor=[1, 2]", "menu.routing=[round-robin, random]",
		"menu.weights=[bf16, fp8]", "menu.disaggregated=[{prefill: 1..2, "+
			"decode: {replicas: 2..4, weights: [fp8, int8]}}, {prefill: 3, decode: 5}]")
	var want []string
	routes := []string{"round-robin", "random"}
	for _, shape := range []string{"1 × h100-sxm", "2 × h100-sxm"} {
		for _, weights := range []string{"bf16", "fp8"} {
			for _, route := range routes {
				want = append(want, shape+", "+weights+", "+route)
			}
		}
	}
	for _, shape := range []string{"1 × h100-sxm", "2 × h100-sxm"} {
		for _, weights := range []string{"bf16", "fp8"} {
			for _, own := range []string{"fp8", "int8"} {
				for n := range 12 {
					both := fmt.Sprintf("%s, %s and %s, %s", shape, weights, shape, own)
					if weights == own {
						both = shape + ", " + own
					}
					want = append(want, fmt.Sprintf("%dP+%dD of %s, %s", 1+n/6, 2+n/2%3, both,
						routes[n%2]))
				}
			}
		}
	}
	for _, shape := range []string{"1 × h100-sxm", "2 × h100-sxm"} {
		for _, weights := range []string{"bf16", "fp8"} {
			for _, route := range routes {
				want = append(want, fmt.Sprintf("3P+5D of %s, %s, %s", shape, weights, route))
			}
		}
	}
	got := labels(f, list)
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("option %d is %q, want %q", i, got[i], want[i])
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d options, want %d", len(got), len(want))
	}
	for _, o := range list {
		if o.Decode == nil {
			continue
		}
		known := *o
		parts := *o.Parts
		known.Parts, parts.Physics.Decode = &parts, math.Log(1.25)
		off := known.Scenario(&f.Plan.Menu, 3, 1.5).Fleet.Pools
		if got := off[0].Engine.Slowdown; math.Abs(got-1.2) > 1e-12 ||
			off[0].Engine.Preset != o.Prefill.Asked().Engine.Preset ||
			off[1].Engine.Slowdown == got {
			t.Fatalf("prompts apart where only decoding is off: %+v", off)
		}
		s := o.Scenario(&f.Plan.Menu, 3, 1.5)
		p, d := s.Fleet.Pools[0], s.Fleet.Pools[1]
		if o.GPUs != int(o.Prefills+o.Decodes)*o.Prefill.GPUs || p.Role != "prefill" ||
			d.Role != "decode" || p.Replicas != 3*int(o.Prefills) ||
			d.Replicas != 3*int(o.Decodes) ||
			s.Replicas != 0 || p.Scaling.Policy != "" || s.Engine.Slowdown != 1.5 {
			t.Fatalf("%+v", s)
		}
		if o.Prefill == o.Decode {
			if p.Engine.Weights != "" {
				t.Fatalf("pools of the same server say it twice: %+v", p)
			}
		} else if p.Engine.Slowdown != 1.5 || d.Engine.Slowdown != 1.5 ||
			p.Engine.Weights == d.Engine.Weights || d.Parallelism != s.Parallelism ||
			d.Hardware.Accelerator != "h100-sxm" {
			t.Fatalf("%+v and %+v", p, d)
		}
	}
	// Accelerators of different providers do not join.
	_, list = optionsOf(t, "menu.disaggregated=[{prefill: {replicas: 1, hardware: "+
		"[{accelerator: h100-sxm, price: $1/h, provider: a}]}, decode: {replicas: 1, hardware: "+
		"[{accelerator: l40s, price: $1/h, provider: b}, "+
		"{accelerator: l4, price: $1/h, provider: a}]}}]")
	if len(list) != 2 || !list[1].Uses("l4") || !list[1].Uses("h100-sxm") || list[1].Uses("l40s") {
		t.Errorf("%d options", len(list))
	}
}

// A menu has two million options at most.
func TestMenusAreBounded(t *testing.T) {
	numbers := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprint(i + 1)
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	for _, overrides := range [][]string{
		{"menu.tensor=" + numbers(2000), "menu.pipeline=" + numbers(1001)},
		{"menu.tensor=" + numbers(1001), "menu.pipeline=" + numbers(1000),
			"menu.routing=[round-robin, random]"},
		{"menu.tensor=[1, 2, 3]", "menu.disaggregated=[{prefill: 1..1000, decode: 1..1000}]"},
	} {
		f, err := asked.Parse("plan.yaml", []byte(steady), overrides...)
		testkit.OK(t, err)
		_, err = Options(f)
		if err == nil || !scenarios.IsInputError(err) ||
			!strings.Contains(err.Error(), "allowed: 2000000") {
			t.Errorf("error %v", err)
		}
	}
	for sizes, want := range map[[3]int]int{{2000, 1000, 1}: 2_000_000, {2, 3, 5}: 30,
		{2000, 1001, 1}: 2_000_001, {2000, 1001, 1 << 40}: 2_000_001} {
		if got := combinations(sizes[:]); got != want {
			t.Errorf("%v: %d combinations, want %d", sizes, got, want)
		}
	}
}

// Spot replicas are tried with bases of replicas that stay, of the same accelerators and shape: of
// each size up to eight, and larger ones a quarter apart.
func TestBasesOfSpotReplicas(t *testing.T) {
	hardware := "menu.hardware=[{accelerator: l40s, price: $3/h}, " +
		"{accelerator: l40s, price: $1/h, term: spot, interruptions: 1/h, return: 10m}, " +
		"{accelerator: l4, price: $1/h}]"
	f, list := optionsOf(t, hardware, "menu.tensor=[1, 2]")
	bases := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 41, 51, 63}
	if len(list) != 2*(2+len(bases)) {
		t.Fatalf("%d options: %q", len(list), labels(f, list))
	}
	for k, gpus := range []int{1, 2} {
		for i, base := range bases {
			o := list[2+k*len(bases)+i]
			want := fmt.Sprintf("%d × l40s spot at $1/h", gpus)
			shape := want
			if base > 0 {
				shape += fmt.Sprintf(" beside %d × l40s at $3/h", gpus)
				want += fmt.Sprintf(", %d of them on-demand at $3/h", base)
			}
			if o.Based() != base || o.GPUs != gpus || o.Label(&f.Plan.Menu) != want ||
				o.Shape() != shape || (o.Standing != nil) != (base > 0) ||
				base > 0 && o.Standing.GPUs != gpus {
				t.Errorf("%q of %q, want %q of %q", o.Label(&f.Plan.Menu), o.Shape(), want, shape)
			}
		}
	}
	for _, other := range []string{"goal={find: throughput, budget: $9/h}",
		"menu.scaling=[queue]"} {
		overrides := []string{hardware, other}
		if strings.HasPrefix(other, "menu.scaling") {
			overrides = append(overrides, "workload.rate={pattern: wave, average: 9/s, swing: 0.5}")
		}
		_, list := optionsOf(t, overrides...)
		for _, o := range list {
			if o.Standing != nil {
				t.Errorf("%s: a base of %d", other, o.Based())
			}
		}
	}
}

// Options whose accelerators can be given back are tried in each way of scaling. The least number
// of a pool counts groups and spares.
func TestOptionsAreScaled(t *testing.T) {
	f, list := optionsOf(t, "workload.rate={pattern: wave, average: 9/s, swing: 0.5}",
		"menu.hardware=[{accelerator: l40s, price: $3/h}, {accelerator: l40s, price: $1/h, "+
			"term: reserved}]", "menu.scaling=[{policy: outstanding, target: 6, min: 2..3}, queue]",
		"menu.disaggregated=[{prefill: 2, decode: 3}]")
	scaled := []string{"", ", scaled by outstanding min:2 target:6",
		", scaled by outstanding min:3 target:6", ", scaled by queue min:1"}
	var want []string
	for _, group := range []string{"", "2P+3D of "} {
		for _, way := range scaled {
			want = append(want, group+"1 × l40s at $3/h"+way)
		}
		want = append(want, group+"1 × l40s reserved at $1/h")
	}
	if got := labels(f, list); !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	for i, o := range list {
		always := []int{0, 2, 3, 1, 0}[i%5]
		if o.Scaled() != (always > 0) || o.Always() != always ||
			o.Fixed() != list[i/5*5+i%5/4*4].Fixed() {
			t.Errorf("%s always has %d", want[i], o.Always())
		}
		if o.Unscaled().Scaled() || o.Scaled() != (always > 0) {
			t.Errorf("%s is scaled: %v", want[i], o.Unscaled().Scaled())
		}
		spared := o.Spared(4)
		s := spared.Scenario(&f.Plan.Menu, 7, 1)
		switch {
		case always == 0:
			if spared != o {
				t.Error("a fixed number has spares besides")
			}
		case o.Decode == nil:
			if p := s.Fleet.Pools; len(p) != 1 || p[0].Replicas != 7 ||
				p[0].Scaling.Least() != always+4 {
				t.Errorf("%+v", p)
			}
		default:
			p := s.Fleet.Pools
			if p[0].Replicas != 14 || p[0].Scaling.Least() != 2*(always+4) || p[1].Replicas != 21 ||
				p[1].Scaling.Least() != 3*(always+4) || p[1].Scaling.Policy != p[0].Scaling.Policy {
				t.Errorf("%+v", p)
			}
		}
		if o.Scaled() && o.Scaling.Standing != 0 {
			t.Error("the option itself has spares")
		}
		o.Prefill.Price = 2
		if o.Decode != nil {
			if got := o.Paid([]float64{4, 9}); got != 26.0/10 {
				t.Errorf("%g groups are paid for", got)
			}
		} else if got := o.Paid([]float64{4}); got != 4 {
			t.Errorf("%g replicas are paid for", got)
		}
	}
}
