package policies

import (
	"github.com/llmsim/llmsim/policies/batching"
	"github.com/llmsim/llmsim/sim"
)

// The policies here are those in which another request than the oldest may come first.

func predictionError() Param {
	return Param{
		Name: "prediction-error",
		Doc: "standard deviation of the logarithm of predicted over true output length; 0 " +
			"where lengths are known",
		Default: "0", Kind: Number,
	}
}

func prediction(d Deployment, v Values) batching.Prediction {
	return batching.Prediction{Sigma: v.Number("prediction-error"), Seed: d.Seed}
}

func sjf() Policy[sim.Scheduler] {
	return Policy[sim.Scheduler]{
		Name:   "sjf",
		Doc:    "vllm-v1 with the shortest answer first, its length known or predicted",
		Source: "Fu et al., Efficient LLM Scheduling by Learning to Rank, NeurIPS 2024",
		Params: with(chunkLimit(), predictionError()),
		New: func(d Deployment, v Values) (sim.Scheduler, error) {
			return batching.NewSJF(limits(v), prediction(d, v))
		},
	}
}

func srtf() Policy[sim.Scheduler] {
	return Policy[sim.Scheduler]{
		Name:   "srtf",
		Doc:    "vllm-v1 with the fewest tokens to come first, also before running ones",
		Source: "Schrage, Operations Research 16 (1968); Shahout et al., TRAIL, ICLR 2025",
		Params: with(chunkLimit(), predictionError(), preemption()),
		New: func(d Deployment, v Values) (sim.Scheduler, error) {
			swap, err := swaps(d, v)
			if err != nil {
				return nil, err
			}
			return batching.NewSRTF(limits(v), prediction(d, v), swap)
		},
	}
}

func mlfq() Policy[sim.Scheduler] {
	return Policy[sim.Scheduler]{
		Name: "mlfq",
		Doc: "skip-join multi-level feedback queue: requests that have run for long make way, " +
			"without knowing lengths",
		Source: "Wu et al., FastServe, arXiv:2305.05920, section 4",
		Params: with(maxSequences(),
			Param{Name: "levels", Doc: "number of queues", Default: "8"},
			Param{Name: "quantum",
				Doc:     "quantum of the first queue; each is twice that of the one before",
				Default: "50ms", Kind: Duration},
			Param{Name: "prefill-rate",
				Doc: "prompt tokens computed in a second, as profiled: a request enters the " +
					"first queue that holds its prompt", Default: "10000", Kind: Number},
			Param{Name: "starvation",
				Doc: "time in a queue after which a request comes into the first one; 0s " +
					"for never",
				Default: "0s", Kind: Duration},
			preemption(),
		),
		New: func(d Deployment, v Values) (sim.Scheduler, error) {
			swap, err := swaps(d, v)
			if err != nil {
				return nil, err
			}
			return batching.NewMLFQ(batching.MLFQConfig{
				MaxSequences: v.Count("max-sequences"), Levels: v.Count("levels"),
				Quantum:     v.Duration("quantum"),
				PrefillRate: v.Number("prefill-rate"), Starvation: v.Duration("starvation"),
				Swap: swap,
			})
		},
	}
}

func priority() Policy[sim.Scheduler] {
	return Policy[sim.Scheduler]{
		Name: "priority",
		Doc: "vllm-v1 with the lowest value of an expression first; as it stands, the highest " +
			"priority",
		Source: "vllm/v1/core/sched/request_queue.py, v0.15; expressions: expr-lang.org",
		Params: with(chunkLimit(),
			Param{Name: "key",
				Doc: "an expression over arrival, deadline, ttft (s), prompt, output (tokens), " +
					"class, tenant and priority", Default: "-priority", Kind: Word},
			displace(), preemption(),
		),
		New: func(d Deployment, v Values) (sim.Scheduler, error) {
			swap, err := swaps(d, v)
			if err != nil {
				return nil, err
			}
			key, err := batching.ParseKey(v.Word("key"))
			if err != nil {
				return nil, &ParamError{"key", err.Error()}
			}
			return batching.NewPriority(limits(v), key, v.Flag("displace"), swap)
		},
	}
}

func edf() Policy[sim.Scheduler] {
	return Policy[sim.Scheduler]{
		Name:   "edf",
		Doc:    "vllm-v1 with the earliest deadline first; requests without one come last",
		Source: "Liu and Layland, JACM 20 (1973)",
		Params: with(chunkLimit(), displace(), preemption()),
		New: func(d Deployment, v Values) (sim.Scheduler, error) {
			swap, err := swaps(d, v)
			if err != nil {
				return nil, err
			}
			return batching.NewEDF(limits(v), v.Flag("displace"), swap)
		},
	}
}

func vtc() Policy[sim.Scheduler] {
	return Policy[sim.Scheduler]{
		Name:   "vtc",
		Doc:    "vllm-v1 with the tenant first that was served least, by a virtual token counter",
		Source: "Sheng et al., Fairness in Serving Large Language Models, OSDI 2024, algorithm 2",
		Params: with(chunkLimit(),
			Param{Name: "input-weight", Doc: "service of an input token", Default: "1",
				Kind: Number},
			Param{Name: "output-weight", Doc: "service of an output token", Default: "2",
				Kind: Number},
		),
		New: func(_ Deployment, v Values) (sim.Scheduler, error) {
			return batching.NewVTC(limits(v), v.Number("input-weight"), v.Number("output-weight"))
		},
	}
}
