package steptime

import (
	"math"
	"slices"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/sim"
)

// reduction returns the seconds of an all-reduce of the given bytes over nodes of the given number
// of accelerators that a catalogue link joins.
func reduction(t *testing.T, network string, nodes, perNode int, bytes float64) float64 {
	t.Helper()
	machines, err := hardware.Load()
	testkit.OK(t, err)
	link, err := machines.Link(network)
	testkit.OK(t, err)
	model, chip := llama8B(), h100()
	model.Attends().Heads, model.Attends().KVHeads, chip.PerNode = 64, 64, perNode
	c := mustClock(t, Config{Model: model, Accelerator: chip, ScaleUp: nvlink4, Network: &link,
		Parallel: Parallelism{Tensor: nodes * perNode}})
	return c.stage.exchanges.allReduce(bytes, nodes*perNode)
}

// NVIDIA/nccl issue 450 (2021): four nodes of 8 V100 at 100 Gb/s TCP reach 4 to 6 GB/s of bus
// bandwidth at 8 to 128 MB.
func TestEthernetReachesThePublishedBusBandwidth(t *testing.T) {
	for _, bytes := range []float64{8e6, 32e6, 128e6} {
		if bus := 2 * 31.0 / 32 * bytes / reduction(t, "ethernet-100g", 4, 8, bytes); bus < 4e9 ||
			bus > 6e9 {
			t.Errorf("%g bytes: bus bandwidth of %g B/s, published are 4e9 to 6e9", bytes, bus)
		}
	}
}

func TestAcceleratorsOfANodeShareItsPort(t *testing.T) {
	const bytes = 64e6
	alone, eight := reduction(t, "ethernet-100g", 2, 1, bytes), reduction(t, "ethernet-100g", 2, 8,
		bytes)
	if eight < 1.5*alone {
		t.Errorf("%g s for 2 accelerators, %g s for 16 over the same two ports, want nearly "+
			"twice as long", alone, eight)
	}
	alone, eight = reduction(t, "infiniband-ndr", 2, 1, bytes), reduction(t, "infiniband-ndr", 2, 8,
		bytes)
	if eight > alone {
		t.Errorf("%g s for 2 accelerators, %g s for 16 with a port each, want no longer", alone,
			eight)
	}
}

// deepseek-ai/DeepEP (README, version 2): 8192 tokens of DeepSeek-V3 on two and four nodes of 8
// Hopper GPUs with a ConnectX-7 port each. Dispatch in FP8 reaches 90 and 61 GB/s, counting what
// stays on the node too.
func TestExchangeReachesThePublishedBandwidth(t *testing.T) {
	machines, known := catalogues(t)
	link, err := machines.Link("infiniband-ndr")
	testkit.OK(t, err)
	inside, err := machines.Link("nvlink4")
	testkit.OK(t, err)
	at := slices.IndexFunc(known, func(a *models.Architecture) bool {
		return a.Name == "deepseek-v3"
	})
	for nodes, published := range map[int]float64{2: 90e9, 4: 61e9} {
		c := mustClock(t, Config{Model: known[at], Accelerator: h100(), ScaleUp: &inside,
			Network: &link, Parallel: Parallelism{Data: 8 * nodes}})
		const bytes = 8192 * 7168
		seconds, _ := c.stage.exchanges.exchange(bytes)
		visited := float64(nodes) * (1 - math.Pow(1-1/float64(nodes), 8))
		if logical := bytes * visited / seconds; math.Abs(logical/published-1) > 0.15 {
			t.Errorf("%d nodes: %g B/s, published %g", nodes, logical, published)
		}
	}
}

// Two ranks have no two-shot kernel, in any engine: what it takes changes nothing for them.
func TestTwoRanksReduceInOneShot(t *testing.T) {
	link := hardware.Link{Bandwidth: 450e9}
	reduce := func(ranks int, latency float64) float64 {
		slow := hardware.AllReduce{Latency: 1, Efficiency: 0.5, Ranks: 8}
		fast := slow
		fast.Latency = hardware.Seconds(latency)
		k := hardware.Collective{OneShot: slow, TwoShot: fast, Library: slow, Bulk: slow}
		return sum(&link, &k, 1e6, ranks, true)
	}
	for ranks, want := range map[int]bool{2: false, 4: true, 8: true} {
		if faster := reduce(ranks, 1e-6) < reduce(ranks, 1); faster != want {
			t.Errorf("%d ranks: a faster two-shot kernel is faster: %v", ranks, faster)
		}
	}
}

// An all-reduce that the hosts launch waits for the last of the ranks, of which each doubling
// brings a later one; in a captured graph none is launched.
func TestAllReducesWaitForTheLastRank(t *testing.T) {
	const skew, graph = 30e-6, 64
	for _, ranks := range []int{2, 4, 8} {
		seconds := func(skew float64, tokens int) float64 {
			e := Engine{Name: "test", Skew: hardware.Seconds(skew), Graph: graph}
			c := mustClock(t, Config{Model: llama8B(), Accelerator: h100(), ScaleUp: nvlink4,
				Engine: e, Parallel: Parallelism{Tensor: ranks}})
			for _, o := range c.stage.collectives(nil, tokens) {
				return o.Time.Seconds()
			}
			return 0
		}
		want := float64(llama8B().AllReduces()) * skew * math.Log2(float64(ranks))
		if got := seconds(skew, graph+1) - seconds(0, graph+1); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%d ranks wait %g s, want %g", ranks, got, want)
		}
		if got := seconds(skew, graph) - seconds(0, graph); got != 0 {
			t.Errorf("%d ranks wait %g s in a graph", ranks, got)
		}
	}
}

// A norm over all heads sums two squares a token over the ranks in each layer, which costs as much
// as the wait for the link, whatever the batch.
func TestRanksSumSquaresWhereNormsSpanHeads(t *testing.T) {
	step := sim.Step{Decodes: 16, DecodeTokens: 16, Context: 16 * 500}
	for _, wide := range []bool{false, true} {
		for _, tp := range []int{1, 4} {
			model := llama8B()
			model.Attends().WideQKNorm = wide
			c := mustClock(t, Config{Model: model, Accelerator: h100(), ScaleUp: nvlink4,
				Engine: Engines()[0], Parallel: Parallelism{Tensor: tp}})
			want := 0.0
			if wide && tp > 1 {
				want = float64(model.Layers()) * c.stage.exchanges.allReduce(16*8, tp) * 1e3
			}
			got := operatorTime(c, &step, "all_reduce_squares")
			if math.Abs(got-want) > 1e-6 {
				t.Errorf("wide %v, %d ranks: sums of squares take %g ms, want %g", wide, tp, got,
					want)
			}
		}
	}
}
