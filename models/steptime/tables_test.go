package steptime

import (
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models/measured"
	"github.com/llmsim/llmsim/sim"
)

func tableFiles(files map[string]string) fstest.MapFS {
	dir := fstest.MapFS{}
	for name, text := range files {
		dir[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return dir
}

const gemms = `gemm_dtype,m,n,k,latency
bfloat16,1,28672,4096,0.1
bfloat16,16,28672,4096,0.4
bfloat16,16,28672,4096,0.4
`

const decodes = `batch_size,isl,num_heads,num_key_value_heads,head_dim,attn_dtype,kv_cache_dtype,step,latency
4,1000,32,8,128,bfloat16,bfloat16,0,0.010
4,2000,32,8,128,bfloat16,bfloat16,0,0.020
4,4000,32,8,128,bfloat16,bfloat16,0,0.030
`

func operatorTime(c *Clock, s *sim.Step, name string) float64 {
	for _, o := range c.Breakdown(s) {
		if o.Name == name {
			return o.Time.Seconds() * 1000
		}
	}
	return math.NaN()
}

func TestTablesReplaceFormulas(t *testing.T) {
	tables, err := ReadTables(tableFiles(map[string]string{
		"my_gpu__gemm.csv": gemms, "my_gpu__generation_attention.csv": decodes,
		"my_gpu__mla_bmm.csv": "x\n", "readme.txt": "",
	}), measured.Wanted{Accelerator: []string{"my-gpu"}})
	testkit.OK(t, err)
	cfg := Config{Model: llama8B(), Accelerator: h100(), Engine: Engines()[0]}
	plain := mustClock(t, cfg)
	cfg.Operators = tables
	c := mustClock(t, cfg)
	step := func(n int, context int64) *sim.Step {
		return &sim.Step{Decodes: n, DecodeTokens: n, Context: context}
	}
	for _, w := range []struct {
		operator string
		step     *sim.Step
		want     float64
	}{
		{"gate_up", step(1, 100), 32 * 0.1},
		{"gate_up", step(4, 100), 32 * 0.2}, // halfway between 1 and 16 in logarithms
		{"gate_up", step(17, 100), operatorTime(plain, step(17, 100), "gate_up")},
		{"down", step(4, 100), operatorTime(plain, step(4, 100), "down")},
		{"attention_decode", step(4, 4*1500), 32 * 0.015},
		{"attention_decode", step(4, 4*3000), 32 * 0.025},
		{"attention_decode", step(4, 4*5000),
			operatorTime(plain, step(4, 4*5000), "attention_decode")},
		{"attention_decode", step(5, 5*1500),
			operatorTime(plain, step(5, 5*1500), "attention_decode")},
	} {
		if got := operatorTime(c, w.step, w.operator); math.Abs(got/w.want-1) > 1e-6 {
			t.Errorf("%s with %d sequences: %g ms, want %g ms", w.operator, w.step.Decodes, got,
				w.want)
		}
	}
	all := strings.Join(c.Warnings(), "\n")
	for _, want := range []string{"down (n=4096 k=14336)", "prefill attention", "mla_bmm.csv"} {
		if !strings.Contains(all, want) {
			t.Errorf("warnings lack %q:\n%s", want, all)
		}
	}
	if outside := c.Outside(); !slices.Equal(outside, []string{
		"decode attention: some of 1 to 17 sequences are not in the operator table, so by formula",
		"decode attention: 25 tokens of context are not in the operator table, so by formula",
		"gate_up: 17 tokens are not in the operator table, so by formula",
	}) {
		t.Errorf("outside: %q", outside)
	}
	if strings.Contains(all, "gate_up") || strings.Contains(all, "decode attention") {
		t.Errorf("what the tables have is said to be missing:\n%s", all)
	}
}

// Tables of prompts count for whole prompts alone, those of experts for the evenest routing, and
// rows of prompts in batches, with a cache, of a window or of an unknown format do not count.
func TestTablesOfPromptsAndExperts(t *testing.T) {
	tables, err := ReadTables(tableFiles(map[string]string{
		"x__context_attention.csv": `batch_size,isl,num_heads,num_key_value_heads,head_dim,kv_cache_dtype,step,window_size,latency
1,1000,32,8,128,bfloat16,0,0,0.2
1,4000,32,8,128,bfloat16,0,,0.6
2,2000,32,8,128,bfloat16,0,0,9
1,2000,32,8,128,bfloat16,500,0,9
1,2000,32,8,128,bfloat16,0,4096,9
1,2000,32,8,128,other,0,0,9
`,
		"x__moe.csv": `moe_dtype,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,num_tokens,distribution,latency
bfloat16,4096,14336,2,8,1,1,1000,power_law_1.01,9
bfloat16,4096,14336,2,8,1,1,1000,balanced,0.8
bfloat16,4096,14336,2,8,1,1,4000,balanced,2.0
bfloat16,4096,14336,2,8,1,1,4000,power_law_1.2,9
other,4096,14336,2,8,1,1,2000,balanced,9
`,
	}), measured.Wanted{})
	testkit.OK(t, err)
	model, _ := known(t, "mixtral-8x7b", "h100-sxm")
	cfg := Config{Model: model, Accelerator: h100(), Engine: Engines()[0]}
	plain := mustClock(t, cfg)
	cfg.Operators = tables
	c := mustClock(t, cfg)
	prompt := func(n, cached int) *sim.Step {
		return &sim.Step{Prefill: []sim.Chunk{{New: n, Cached: cached, Last: true}}}
	}
	for _, w := range []struct {
		operator string
		step     *sim.Step
		want     float64
	}{
		{"attention_prefill", prompt(1000, 0), 32 * 0.2},
		{"attention_prefill", prompt(4000, 0), 32 * 0.6},
		{"attention_prefill", prompt(1000, 500),
			operatorTime(plain, prompt(1000, 500), "attention_prefill")},
		{"expert_gate_up", prompt(1000, 0), 32 * 0.4}, {"expert_down", prompt(1000, 0), 32 * 0.4},
		{"expert_gate_up", prompt(4000, 0), 32 * 1.0},
		{"expert_down", prompt(9000, 0), operatorTime(plain, prompt(9000, 0), "expert_down")},
	} {
		if got := operatorTime(c, w.step, w.operator); !(math.Abs(got/w.want-1) <= 1e-6) {
			t.Errorf("%s of %+v takes %g ms, want %g", w.operator, w.step.Prefill, got, w.want)
		}
	}
}

func TestTableFormsAreExact(t *testing.T) {
	tables, err := ReadTables(
		tableFiles(map[string]string{"x__gemm.csv": gemms, "x__generation_attention.csv": decodes}),
		measured.Wanted{})
	testkit.OK(t, err)
	c := mustClock(t, Config{Model: llama8B(), Accelerator: h100(), Engine: Engines()[0],
		Operators: tables})
	for context := int64(4); context < 20000; context += 7 {
		s := &sim.Step{Decodes: 4, DecodeTokens: 4, Context: context}
		form := c.Decode(4, context)
		if got := total(c.Breakdown(s)); form.Through < context || form.At(context) != got ||
			c.Duration(s) != got {
			t.Fatalf("context %d: form %v, duration %v, breakdown %v", context, form.At(context),
				c.Duration(s), got)
		}
	}
}

func TestTablesSayWhatIsWrong(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"no operator tables here":     {"a.csv": ""},
		"several accelerators (a, b)": {"a__gemm.csv": gemms, "b__gemm.csv": gemms},
		"x__gemm.csv:3: column latency is \"-1\"": {
			"x__gemm.csv": "gemm_dtype,m,n,k,latency\nbfloat16,1,2,3,1\nbfloat16,1,2,3,-1\n"},
		"x__gemm.csv:2: column k is \"\"": {
			"x__gemm.csv": "gemm_dtype,m,n,latency\nbfloat16,1,2,1\n"},
		"x__gemm.csv:2: column m is \"1.5\", want a": {
			"x__gemm.csv": "gemm_dtype,m,n,k,latency\nbfloat16,1.5,2,3,1\n"},
		"x__moe.csv:2: column hidden_size is": {"x__moe.csv": "moe_dtype,latency\nfp8,1\n"},
		"wrong number of fields": {
			"x__gemm.csv": "gemm_dtype,m\nbfloat16,1,2\n"},
		"nothing that can be used in x__mla_bmm.csv": {"x__mla_bmm.csv": "a\n"},
		"x__gemm.csv: the file is empty":             {"x__gemm.csv": ""},
	} {
		if _, err := ReadTables(tableFiles(files),
			measured.Wanted{Accelerator: []string{"h100"}}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Tables of NCCL have several rows for a size, of which the slowest is the all-reduce.
func TestLibraryTableIsTheAllReduce(t *testing.T) {
	tables, err := ReadTables(
		tableFiles(map[string]string{
			"x__nccl.csv": "nccl_dtype,num_gpus,message_size,latency\nhalf,2,4096,0.010\n" +
				"half,2,4096,0.017\nhalf,2,4096,0.011\nhalf,2,65536,0.017\n"}), measured.Wanted{})
	testkit.OK(t, err)
	cfg := Config{Model: llama8B(), Accelerator: h100(), ScaleUp: nvlink4, Engine: Engines()[0],
		Operators: tables, Parallel: Parallelism{Tensor: 2}}
	cfg.Engine.CustomAllReduce = false
	c := mustClock(t, cfg)
	if got, want := operatorTime(c, &sim.Step{Decodes: 4, DecodeTokens: 4, Context: 400},
		"all_reduce"), 65*0.017; math.Abs(got/want-1) > 1e-6 {
		t.Errorf("all-reduces take %g ms, want %g ms", got, want)
	}
}

func FuzzReadTables(f *testing.F) {
	f.Add("gemm", gemms)
	f.Add("generation_attention", decodes)
	f.Fuzz(func(t *testing.T, operator, text string) {
		var tables *Tables
		var err error
		testkit.Bounded(t, len(text), func() {
			tables, err = ReadTables(
				tableFiles(map[string]string{"x__" + strings.Map(letters, operator) +
					".csv": text}), measured.Wanted{Accelerator: []string{"x"}})
		})
		if err != nil {
			return
		}
		c := mustClock(t, Config{Model: llama8B(), Accelerator: h100(), Engine: Engines()[0],
			Operators: tables})
		if d := c.Duration(&sim.Step{Decodes: 4, DecodeTokens: 4, Context: 6000}); d <= 0 {
			t.Errorf("a step takes %v", d)
		}
	})
}

func letters(r rune) rune {
	if r == '_' || 'a' <= r && r <= 'z' {
		return r
	}
	return -1
}

// Steps that are only asked for take the time of steps that run, and are not reported as run.
func TestStepsAsideAreNotReported(t *testing.T) {
	tables, err := ReadTables(tableFiles(map[string]string{"x__gemm.csv": `gemm_dtype,m,n,k,latency
bfloat16,1,6144,4096,0.01
bfloat16,100,6144,4096,0.02
`}), measured.Wanted{})
	testkit.OK(t, err)
	model, _ := known(t, "mixtral-8x7b", "h100-sxm")
	c := mustClock(t, Config{Model: model, Accelerator: h100(), Engine: Engines()[0],
		Operators: tables})
	step := &sim.Step{Prefill: []sim.Chunk{{New: 5000, Last: true}}}
	aside := c.Aside().Duration(step)
	if list := c.Outside(); len(list) > 0 {
		t.Errorf("a step that did not run is reported: %q", list)
	}
	if took := c.Duration(step); took != aside || len(c.Outside()) == 0 {
		t.Errorf("the step takes %v, aside %v; reported: %q", took, aside, c.Outside())
	}
}
