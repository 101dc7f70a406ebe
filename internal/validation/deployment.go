// Package validation says how wrong llmsim is: it reads tables of measurements of real servers and
// GPUs, simulates each row as it was measured, and compares.
//
// Read finds the tables that it knows in a folder, by file name and columns; each kind has a file
// here (table_*.go) that says how its rows were measured. Data.Compare predicts them under a
// Physics, and a Report sums up the errors by table and by group of engine, GPU, model and tensor
// parallelism.
package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// deployment is a server as a row describes it: a scenario, with what the scenario's names mean.
type deployment struct {
	scenarios.Scenario
	model            *models.Architecture
	accelerator      hardware.Accelerator
	scaleUp, network *hardware.Link
	// weights and kv are number formats; both are set.
	weights, kv hardware.DType
	// version is the release that the row names, known to the engine's registry or not.
	version string
	// maxSequences and tokenBudget limit a step, over all data-parallel ranks; 0 means the engine's
	// own limit.
	maxSequences, tokenBudget int
	// machine names the machines of the measurement, if their hosts are known to differ; server is
	// the name of the server, if the table has one.
	machine, server string
	// tokens is "random" where prompts are random tokens, and empty for text.
	tokens string
	// session reports whether batches were given to the engine without a server, so that the
	// factors do not count by which its kernels take longer in a server.
	session bool
	// engineTimes reports whether times were taken inside the engine, so that the cost of a request
	// outside it does not count.
	engineTimes bool
	// apart is the servers where prefill and decode are apart; nil for one server.
	apart *disaggregated
}

// param sets a parameter of the engine's batching.
func (d *deployment) param(name string, value any) {
	params := map[string]string{}
	maps.Copy(params, d.Batching.Params)
	params[name] = fmt.Sprint(value)
	d.Batching.Params = params
}

// limit writes a limit of batches, if the policy has one and the row says it.
func (d *deployment) limit(p *policies.Setting, n int) {
	if p != nil && n > 0 {
		d.param(p.Name, n)
	}
}

// deploy finds what a row names in its columns model, gpu and dtype; where a column is empty or
// absent, the defaults stand.
func (c *catalogs) deploy(r *row, model, gpu, dtype string, tensor int) deployment {
	d := deployment{version: r.version()}
	d.Parallelism.Tensor = tensor
	if r.err != nil {
		return d
	}
	var err error
	if d.model, err = c.model(model); err != nil {
		r.fail(err)
		return d
	}
	if d.accelerator, err = c.accelerator(gpu); err != nil {
		r.fail(err)
		return d
	}
	if d.weights, err = parseDType(dtype); err != nil {
		r.fail(err)
		return d
	}
	if d.scaleUp, d.network, err = c.links(r.table.kind.Name, &d.accelerator); err != nil {
		r.fail(err)
	}
	if d.scaleUp != nil && d.scaleUp.Name != d.accelerator.ScaleUp {
		d.Hardware.Link = d.scaleUp.Name
	}
	if d.weights == hardware.FP4 && strings.HasPrefix(d.model.Name, "gpt-oss") {
		d.weights = hardware.MXFP4 // its published format, which tables call fp4
	}
	if d.weights == hardware.FP8 &&
		(publishedByBlock(d.model.Name) || strings.HasSuffix(model, "-FP8") &&
			strings.HasPrefix(d.model.Name, "qwen3")) {
		d.weights = hardware.FP8Block
	}
	if k := r.table.kind; k.Tokens != "" && r.value(k.Tokens) == "random" {
		d.tokens = "random"
	}
	d.kv = steptime.Wide(d.model, d.weights)
	if kv := r.value("kv_cache_dtype|kv_dtype|="); kv != "" && kv != "auto" {
		if d.kv, err = parseDType(kv); err != nil {
			r.fail(err)
		}
	}
	return d
}

// publishedByBlock reports whether a model's makers publish its weights in FP8 with a scale for
// each block of 128×128: the config.json of DeepSeek-V3, Kimi-K2 and MiniMax-M2 says so, as do the
// files of Qwen's checkpoints that end in -FP8.
func publishedByBlock(model string) bool {
	return slices.ContainsFunc([]string{"deepseek-v3", "kimi-k2", "minimax-m2"},
		func(family string) bool { return strings.HasPrefix(model, family) })
}

// narrowCache makes the cache as narrow as checkpoints in 8 bits and fewer have it: they bring
// scales for an FP8 cache, which engines then use.
func (d *deployment) narrowCache() {
	switch d.weights {
	case hardware.FP8, hardware.FP8Block, hardware.FP4, hardware.MXFP4:
		d.kv = hardware.FP8
	}
}

func (d *deployment) group() accuracy.Group {
	return accuracy.Group{Engine: d.Engine.Preset, Version: d.version, GPU: d.accelerator.Name,
		Model: d.model.Name, DType: string(d.weights), TP: d.Parallelism.Tensor, Server: d.server}
}

// pool is a deployment and the number of servers that are such.
type pool struct {
	deployment
	workers int
}

// disaggregated is servers that compute prompts and servers that go on from there, behind a number
// of frontends that take them in turn: Dynamo's do so unless told otherwise (its router guide,
// --router-mode).
type disaggregated struct {
	prefill, decode pool
	frontends       int
}

// divided makes the server several that compute prompts and several that go on from there.
func (d *deployment) divided(prefill, decode int) {
	own := *d
	d.apart = &disaggregated{pool{own, prefill}, pool{own, decode}, 1}
}

// manyFrontends is how many recipes of InferenceX put behind nginx unless they say otherwise
// (srt-slurm, num_additional_frontends).
const manyFrontends = 10

// sending holds requests that are sent at times of their own. counts reports whether the latencies
// of requests with this arrival time are compared; other requests only load the server. law is the
// load of a scenario from which the requests were drawn, and nil where they were recorded.
type sending struct {
	requests []sim.Request
	counts   func(arrival sim.Time) bool
	law      *scenarios.Workload
	// drawn makes the requests each time where they are many; nil where requests has them.
	drawn func() []sim.Request
}

// list returns the requests; nil for no sending.
func (s *sending) list() []sim.Request {
	switch {
	case s == nil:
		return nil
	case s.drawn != nil:
		return s.drawn()
	}
	return s.requests
}

// emission is what predicts a row: a server under its own load, or with requests that are sent.
// Where server is nil, no scenario does.
type emission struct {
	server *deployment
	sent   *sending
	// figures says where the row's figures come from, if not from a simulation of the load, and
	// which command shows them.
	figures string
}
