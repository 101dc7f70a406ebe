package deployment_test

import (
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// draw makes up a server of any model on any accelerator, under an engine with the policies that it
// has.
func draw(t *rapid.T) deployment.Config {
	known, err := models.Load()
	testkit.OK(t, err)
	machines, err := hardware.Load()
	testkit.OK(t, err)
	c := deployment.Config{
		Model: rapid.SampledFrom(known.All()).Draw(t, "model"),
		Accelerator: &machines.Accelerators[rapid.IntRange(0, len(machines.Accelerators)-1).Draw(t,
			"accelerator")],
		Engine: rapid.SampledFrom(steptime.Engines()).Draw(t, "engine"),
		Parallel: steptime.Parallelism{
			Tensor: rapid.SampledFrom([]int{1, 2, 4, 8}).Draw(t, "tensor")},
		MaxContext: rapid.SampledFrom([]int{0, 512}).Draw(t, "context"),
	}
	if link, err := machines.Link(c.Accelerator.ScaleUp); err == nil {
		c.ScaleUp = &link
	}
	own, registry := c.Defaults(), policies.Default()
	var batching, memory string
	params := own.Batching.Complete(&batching, nil)
	if c.Policies.Batching, err = deployment.Choose(&registry.Batching, batching,
		params); err != nil {
		t.Fatal(err)
	}
	params = own.Memory.Complete(&memory, nil)
	if c.Policies.Memory, err = deployment.Choose(&registry.Memory, memory, params); err != nil {
		t.Fatal(err)
	}
	c.Memory.KVShare, c.Memory.StaticShare = own.KVShare, own.StaticShare
	c.Memory.OwnShare = true
	return c
}

// Every engine has policies that exist, whose parameters are allowed, and that run wherever the
// model fits.
func TestEveryEngineServesWithItsOwnPolicies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := draw(t)
		s, err := deployment.New(c)
		if err != nil {
			return // it does not fit, or cannot be split
		}
		r, err := s.Replica(0)
		testkit.OK(t, err)
		if r.Scheduler == nil || r.Memory == nil || r.Memory.Capacity() < 1 || r.Clock == nil {
			t.Fatalf("%+v", r)
		}
		if key, predicted := c.Key(); !predicted || key.Engine != c.Engine.Name ||
			key.Batching == "" || key.Memory == "" {
			t.Fatalf("%+v, %t", key, predicted)
		}
	})
}

// The share of the memory that an engine takes gives the same plan as the rule from which it
// follows, and each rule leaves the KV cache what it says.
func TestUtilizationFollowsFromOtherShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := draw(t)
		share := rapid.Float64Range(0.05, 1).Draw(t, "share")
		static := rapid.Bool().Draw(t, "static")
		c.Memory.OwnShare = false
		if c.Memory.KVShare = share; static {
			c.Memory.KVShare, c.Memory.StaticShare = 0, share
		}
		one, err := c.PlanMemory()
		if err != nil {
			return
		}
		if c.Memory.Utilization, err = c.Utilization(); err != nil {
			t.Fatal(err)
		}
		c.Memory.KVShare, c.Memory.StaticShare = 0, 0
		if two, err := c.PlanMemory(); err != nil || one != two {
			t.Fatalf("%v: by share %+v, by utilization %+v", err, one, two)
		}
		taken := one.Weights + one.Draft + one.Activations + one.Context
		want := share * (one.Total - taken)
		if static {
			want = share*(one.Total-one.Context) - one.Weights - one.Draft
		}
		if left := one.Usable - taken; one.KV > 0 && math.Abs(left-want) > 1 {
			t.Fatalf("the KV cache has %g bytes, want %g", left, want)
		}
	})
}

// A token budget below the engine's number of sequences lowers that, and what is given stays.
func TestGivenParametersStay(t *testing.T) {
	machines, err := hardware.Load()
	testkit.OK(t, err)
	h100, err := machines.Accelerator("h100-sxm")
	testkit.OK(t, err)
	engine, err := steptime.FindEngine("vllm-v1")
	testkit.OK(t, err)
	known, err := models.Load()
	testkit.OK(t, err)
	model, err := known.Lookup("deepseek-v3")
	testkit.OK(t, err)
	server := deployment.Config{Model: model, Engine: engine, Accelerator: &h100}
	own := server.Defaults().Batching
	for _, c := range []struct {
		name              string
		given             map[string]string
		sequences, budget int
	}{
		{"", nil, 1024, 8192},
		{"vllm-v1", nil, 1024, 8192},
		{"", map[string]string{"token-budget": "512"}, 512, 512},
		{"", map[string]string{"token-budget": "512", "max-sequences": "9"}, 9, 512},
		{"sarathi", map[string]string{"token-budget": "512"}, 128, 512},
		{"sarathi", map[string]string{"token-budget": "64"}, 128, 64},
		{"orca", nil, 0, 0},
	} {
		name := c.name
		params := own.Complete(&name, c.given)
		got, err := deployment.Choose(&policies.Default().Batching, name, params)
		testkit.OK(t, err)
		own.WithinBudget(&got, c.given)
		if sequences, budget := got.Limits(); sequences != c.sequences || budget != c.budget {
			t.Errorf("%q with %v: %d sequences, %d tokens", c.name, c.given, sequences, budget)
		}
	}
}

// What a chosen policy tells of its parameters, read again, is the same policy: for each family,
// policy and parameter, with the defaults and with a limit that was set.
func TestSettingsReadBack(t *testing.T) {
	r := policies.Default()
	readBack(t, &r.Batching)
	readBack(t, &r.Memory)
	readBack(t, &r.Routing)
	readBack(t, &r.Admission)
	readBack(t, &r.Scaling)
	readBack(t, &r.Drafting)
}

func readBack[T any](t *testing.T, family *policies.Family[T]) {
	t.Helper()
	roles := []string{policies.Sequences, policies.Tokens, policies.PromptTokens,
		policies.PromptOfOne, policies.Requests, policies.Block}
	for i := range family.Policies {
		name := family.Policies[i].Name
		c, err := deployment.Choose(family, name, nil)
		testkit.OK(t, err)
		for k := range len(roles) + 1 { // first with the defaults
			c.SetLimit(3, roles[:k]...)
			if param, n := c.Number(roles[:k]...); param != "" && n != 3 {
				t.Errorf("%s: %s is %d, want 3", name, param, n)
			}
			written := map[string]string{}
			for _, p := range c.List() {
				written[p.Name] = p.Default
			}
			again, err := deployment.Choose(family, name, written)
			testkit.OK(t, err)
			if len(written) > 0 && !reflect.DeepEqual(again.Settings, c.Settings) {
				t.Errorf("%s: %+v, read again %+v", name, c.Settings, again.Settings)
			}
		}
	}
}

// The limits of vLLM and TensorRT-LLM are those of each data-parallel rank, as with the flags of
// the same name; SGLang's ranks share a chunk.
func TestLimitsOfRanks(t *testing.T) {
	machines, err := hardware.Load()
	testkit.OK(t, err)
	h200, err := machines.Accelerator("h200-sxm")
	testkit.OK(t, err)
	known, err := models.Load()
	testkit.OK(t, err)
	model, err := known.Lookup("deepseek-v3")
	testkit.OK(t, err)
	for preset, want := range map[string]map[string]string{
		"vllm-v1": {"max-sequences": "16384", "token-budget": "131072"},
		"trtllm":  {"max-sequences": "32768", "token-budget": "131072"},
		"sglang":  {"max-sequences": "32768", "chunk": "8192", "order": "arrival"},
	} {
		engine, err := steptime.FindEngine(preset)
		testkit.OK(t, err)
		c := deployment.Config{Model: model, Engine: engine, Accelerator: &h200,
			Parallel: steptime.Parallelism{Data: 16}}
		if found := c.Defaults().Batching.Params; !maps.Equal(found, want) {
			t.Errorf("16 ranks of %s have %v, want %v", preset, found, want)
		}
	}
}

// An engine that the registry does not have is refused, since nothing says how it schedules.
func TestAnEngineWithoutDefaultsIsRefused(t *testing.T) {
	machines, err := hardware.Load()
	testkit.OK(t, err)
	h100, err := machines.Accelerator("h100-sxm")
	testkit.OK(t, err)
	known, err := models.Load()
	testkit.OK(t, err)
	model, err := known.Lookup("llama-3.1-8b")
	testkit.OK(t, err)
	_, err = deployment.New(deployment.Config{Model: model, Accelerator: &h100,
		Engine: steptime.Engine{Name: "brand-new"}})
	if err == nil || !strings.Contains(err.Error(), "brand-new") {
		t.Errorf("found %v, want a refusal of the preset", err)
	}
}
