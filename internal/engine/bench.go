package engine

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/engine/kernels"
)

// BenchCase is one kind of step.
type BenchCase struct {
	// Phase is "decode", one token of each of Batch sequences, or "prefill", Tokens tokens of each.
	Phase string `json:"phase"`
	// Threads is the number of threads.
	Threads int `json:"threads"`
	// Batch is the number of sequences.
	Batch int `json:"batch"`
	// Tokens is the number of tokens that each sequence attends to at the end of the step.
	Tokens int `json:"tokens"`
}

// BenchResult has the times of a case. Times are medians; the machine's rates were measured between
// the steps.
type BenchResult struct {
	BenchCase
	// Steps is the number of steps timed.
	Steps int `json:"steps"`
	// StepTime is in seconds, Rate in tokens a second.
	StepTime float64 `json:"step_time"`
	Rate     float64 `json:"tokens_per_second"`
	// Bytes counts the weights, keys and values that a step reads, FLOPs the operations of its
	// products and its attention.
	Bytes int64 `json:"bytes"`
	FLOPs int64 `json:"flops"`
	// Bandwidth (B/s) and FLOPRate (FLOP/s) are those reached, and the shares are of what the probe
	// reached.
	Bandwidth      float64 `json:"bandwidth"`
	FLOPRate       float64 `json:"flop_rate"`
	BandwidthShare float64 `json:"bandwidth_share"`
	FLOPShare      float64 `json:"flop_share"`
}

// BenchCases returns the grid of decode steps over batches × contexts and prefills of the given
// lengths, for each number of threads. Contexts and prompts longer than the model's context are
// left out.
func BenchCases(m *gpt2.Model, threads, batches, contexts, prompts []int) ([]BenchCase, error) {
	for _, list := range [][]int{threads, batches, contexts, prompts} {
		for _, n := range list {
			if n < 1 {
				return nil, fmt.Errorf("%d threads, sequences or tokens: at least 1 is needed", n)
			}
		}
	}
	var cases []BenchCase
	for _, t := range threads {
		for _, n := range contexts {
			for _, b := range batches {
				if n <= m.Config.Context {
					cases = append(cases, BenchCase{"decode", t, b, n})
				}
			}
		}
		for _, n := range prompts {
			if n <= m.Config.Context {
				cases = append(cases, BenchCase{"prefill", t, 1, n})
			}
		}
	}
	return cases, nil
}

// BenchOptions says how long and against what is measured.
type BenchOptions struct {
	// Least is the time spent in timed steps; at least three are made.
	Least time.Duration
	// ProbeBytes is how much memory is read between steps to measure the bandwidth; 0 means
	// probe.DefaultProbeBytes.
	ProbeBytes int
	// NaiveAttention computes attention without tiling.
	NaiveAttention bool
}

// Bench times steps of one case, after one to warm up.
func Bench(m *gpt2.Model, c BenchCase, o BenchOptions) (BenchResult, error) {
	if o.ProbeBytes == 0 {
		o.ProbeBytes = DefaultProbeBytes
	}
	pool := kernels.NewPool(c.Threads)
	defer pool.Close()
	set := kernels.Best()
	machine, err := NewProbe(pool, set, o.ProbeBytes)
	if err != nil {
		return BenchResult{}, err
	}
	defer machine.Close()
	batch, blocks := c.segments()
	kv, err := gpt2.NewKV(m, blocks)
	if err != nil {
		return BenchResult{}, err
	}
	defer kv.Close()
	runner := gpt2.NewRunner(m, kv, set, pool)
	runner.Naive = o.NaiveAttention
	if err := runner.Forward(batch); err != nil {
		return BenchResult{}, err
	}
	var times, bandwidths, rates []float64
	for spent := time.Duration(0); spent < o.Least || len(times) < 3; {
		bandwidths, rates = append(bandwidths, machine.ReadBandwidth()),
			append(rates, machine.MatrixRate())
		begin := time.Now()
		if err := runner.Forward(batch); err != nil {
			return BenchResult{}, err
		}
		elapsed := time.Since(begin)
		spent += elapsed
		times = append(times, elapsed.Seconds())
	}
	r := BenchResult{BenchCase: c, Steps: len(times), StepTime: median(times)}
	r.Bytes, r.FLOPs = work(m, batch)
	tokens := 0
	for _, s := range batch {
		tokens += len(s.Tokens)
	}
	r.Rate = float64(tokens) / r.StepTime
	r.Bandwidth, r.FLOPRate = float64(r.Bytes)/r.StepTime, float64(r.FLOPs)/r.StepTime
	r.BandwidthShare, r.FLOPShare = r.Bandwidth/median(bandwidths), r.FLOPRate/median(rates)
	return r, nil
}

// segments returns the batch of a case, with KV blocks of its own for each sequence, and the number
// of blocks. What decode steps attend to was never computed: zeros take as long.
func (c BenchCase) segments() (batch []gpt2.Segment, blocks int) {
	each := (c.Tokens + gpt2.BlockTokens - 1) / gpt2.BlockTokens
	for i := range c.Batch {
		s := gpt2.Segment{Logits: 1}
		for b := range each {
			s.Blocks = append(s.Blocks, int32(i*each+b))
		}
		if c.Phase == "prefill" {
			s.Tokens = make([]int32, c.Tokens)
		} else {
			s.Tokens, s.Start = make([]int32, 1), c.Tokens-1
		}
		batch = append(batch, s)
	}
	return batch, each * c.Batch
}

// work returns the bytes and floating-point operations of a step. Attention takes 4·width
// operations for each query and key that it sees.
func work(m *gpt2.Model, batch []gpt2.Segment) (bytes, flops int64) {
	layers, head := m.MatrixFLOPs()
	bytes = m.WeightBytes()
	for _, s := range batch {
		n, start := int64(len(s.Tokens)), int64(s.Start)
		bytes += (start + n) * m.KVBytes()
		pairs := n*start + n*(n+1)/2
		flops += n*layers + int64(s.Logits)*head + 4*pairs*int64(m.Config.Width*m.Config.Layers)
	}
	return bytes, flops
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// WriteBench writes results for people: shares are of what the probe reached in the same run.
func WriteBench(w io.Writer, results []BenchResult) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "phase\tthreads\tbatch\ttokens\tstep "+
		"ms\ttokens/s\tGB/s\tshare\tGFLOP/s\tshare\t")
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.2f\t%.0f\t%.1f\t%.0f %%\t%.0f\t%.0f %%\t\n", r.Phase,
			r.Threads, r.Batch, r.Tokens,
			1e3*r.StepTime, r.Rate, r.Bandwidth/1e9, 100*r.BandwidthShare, r.FLOPRate/1e9,
			100*r.FLOPShare)
	}
	return t.Flush()
}
