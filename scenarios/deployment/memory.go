package deployment

import (
	"cmp"
	"fmt"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
)

// Memory says how the memory of a replica is divided.
type Memory struct {
	// Utilization is the share of an accelerator's memory that the engine takes for weights,
	// activations and KV cache; 0 means 0.9.
	Utilization float64
	// KVShare is the KV cache's share of the memory that weights, activations and engine leave, as
	// TensorRT-LLM divides memory. 0 means that Utilization counts.
	KVShare float64
	// StaticShare is the share for weights and KV cache of the memory that an accelerator has free
	// before weights are loaded, as SGLang divides memory. 0 means that Utilization counts.
	StaticShare float64
	// OwnShare reports whether the share is the engine's own default: then it is never more than
	// activations and engine leave.
	OwnShare bool
	// WindowShare is the part of the cache's tokens whose KV has room in layers with windows, where
	// the engine keeps pools apart, as SGLang does; 0 where it does not.
	WindowShare float64
	// Tokens is the size of the KV cache in tokens, if it is known; 0 means all free memory.
	Tokens int
	// LargestStep is the number of tokens for which activations have room; 0 means the largest step
	// that the scheduler forms.
	LargestStep int
	// Swap is the host memory in bytes for KV caches that are swapped out, of all accelerators of a
	// replica together.
	Swap float64
	// DraftWeights are the bytes of weights of a drafter that shares the accelerators, and DraftKV
	// what it stores for a token, on each of them.
	DraftWeights, DraftKV float64
}

// PlanMemory divides the memory of each accelerator. The error says why the model cannot be split
// as asked; see steptime.MemoryPlan.Err for whether it fits.
func (c *Config) PlanMemory() (steptime.MemoryPlan, error) {
	m := c.memory()
	var err error
	if m.Utilisation, err = c.Utilization(); err != nil {
		return steptime.MemoryPlan{}, err
	}
	plan, err := steptime.Plan(m)
	if err == nil && c.Memory.Tokens > 0 && c.Memory.Tokens <= plan.Tokens {
		plan.Limit(c.Memory.Tokens)
	}
	return plan, err
}

// Utilization returns the share of an accelerator's memory that the engine takes. It follows from
// Memory.KVShare or Memory.StaticShare if one of them is given.
//
// TensorRT-LLM takes its share of what the largest step leaves (tensorrt_llm/_torch/pyexecutor/
// _util.py, _cal_max_memory); SGLang takes its share of what is free before weights are loaded, and
// leaves the rest free, in which activations find room (python/sglang/srt/model_executor/
// model_runner_kv_cache_mixin.py, v0.5.8, profile_max_num_token).
func (c *Config) Utilization() (float64, error) {
	if c.Memory.KVShare == 0 && c.Memory.StaticShare == 0 {
		return cmp.Or(c.Memory.Utilization, 0.9), nil
	}
	m := c.memory()
	m.Utilisation = 1
	plan, err := steptime.Plan(m)
	if c.Memory.KVShare > 0 {
		return 1 - (1-c.Memory.KVShare)*plan.KV/plan.Total, err
	}
	free := plan.Total - plan.Context
	share := (c.Memory.StaticShare*free + plan.Activations + plan.Context) / plan.Total
	if c.Memory.OwnShare {
		share = min(share, 1)
	}
	if share > 1 && err == nil {
		err = fmt.Errorf("a static-share of %g leaves %s of an accelerator, and activations "+
			"take %s", c.Memory.StaticShare,
			units.FormatBytes(free*(1-c.Memory.StaticShare)), units.FormatBytes(plan.Activations))
	}
	return share, err
}

func (c *Config) memory() steptime.MemoryConfig {
	sequences, tokens := c.Policies.Batching.Limits()
	_, block := c.Policies.Memory.Number(policies.Block)
	m := steptime.MemoryConfig{
		Model: c.Model, Accelerator: c.Accelerator, Parallel: c.Parallel,
		Weights: c.Weights, KV: c.KV, Engine: c.Engine, Utilisation: c.Memory.Utilization,
		TokenBudget: tokens, Sequences: sequences, BlockTokens: block, Context: c.MaxContext,
		Windows:      c.Policies.forgetsWindows(),
		WindowShare:  c.Memory.WindowShare,
		DraftWeights: c.Memory.DraftWeights, DraftKV: c.Memory.DraftKV,
		Adapters: c.Adapters, Encodings: c.EncoderCache,
	}
	if c.EncodersApart {
		m.Encodings = 0
	}
	if release, err := c.release(); err == nil {
		if own, known := release.Takes(c.place()); known {
			m.Engine.Memory = steptime.EngineMemory{Context: own.ContextGiB * (1 << 30),
				LogitBytes: cmp.Or(own.LogitBytes, m.Engine.Memory.LogitBytes),
				Sampled:    m.Engine.Memory.Sampled,
				Buffers:    own.BuffersGiB * (1 << 30), Hidden: own.Hidden,
				Workspaces: own.Workspaces, Rotary: own.Rotary}
		}
	}
	if c.Memory.LargestStep > 0 {
		m.TokenBudget = c.Memory.LargestStep
	}
	return m
}

// Holds reports whether the accelerators hold the model and one sequence of that many tokens.
func (c *Config) Holds(tokens int) bool {
	plan, err := c.PlanMemory()
	return err == nil && plan.Blocks > 0 && plan.Longest() >= tokens
}
