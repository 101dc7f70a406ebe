package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/reuse"
	"github.com/llmsim/llmsim/workload/trace"
)

// tablesOf returns the tables of a document.
func tablesOf(list doc.Blocks) (tables []doc.Block) {
	for _, b := range list {
		if b.Kind == doc.Table {
			tables = append(tables, b)
		}
	}
	return tables
}

// reads fails the test unless words are a figure within 0.1 % of what is wanted.
func reads(t testing.TB, what, words string, want float64,
	parse func(string) (float64, error)) {
	t.Helper()
	got, err := parse(words)
	if err != nil || math.Abs(got-want) > 1e-3*math.Abs(want) {
		t.Errorf("%s: %q is read as %g (%v), want %g", what, words, got, err, want)
	}
}

// parseBytes reads bytes in decimal units, which may be followed by binary ones.
func parseBytes(words string) (float64, error) {
	decimal, _, _ := strings.Cut(words, " (")
	return units.ParseBytes(decimal)
}

// parseBillions reads a number of parameters.
func parseBillions(words string) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSuffix(words, " B"), 64)
	return x * 1e9, err
}

// parseCount reads a number with commas.
func parseCount(words string) (float64, error) {
	return strconv.ParseFloat(strings.ReplaceAll(words, ",", ""), 64)
}

// A list has a row for each entry, named by it, whose figures read back as the entry's. What is not
// known is empty. Names are on the left, figures on the right.
func TestListsReadBack(t *testing.T) {
	machines, err := hardware.Load()
	testkit.OK(t, err)
	catalogue, err := models.Load()
	testkit.OK(t, err)
	accelerators := append(HardwareList(machines), AcceleratorEntry{Name: "unknown", Memory: 1,
		Bandwidth: 1}, AcceleratorEntry{Name: "cheap", Memory: 1, Bandwidth: 1, Price: 0.5})
	rows := tablesOf(Hardware(accelerators))[0]
	for i, a := range accelerators {
		row := rows.Rows[i]
		reads(t, a.Name, row[1], a.Memory, parseBytes)
		reads(t, a.Name, row[2], a.Bandwidth, units.ParseByteRate)
		if rate := a.Peak[hardware.BF16]; rate > 0 {
			reads(t, a.Name, row[3], rate, units.ParseFLOPRate)
		} else if row[3] != "" {
			t.Errorf("%s has %s of bf16", a.Name, row[3])
		}
		if (row[4] != "") != (a.Price > 0) || row[0] != a.Name {
			t.Errorf("%s at $%g is listed as %q", a.Name, a.Price, row)
		}
	}
	list := ModelList(catalogue)
	table := tablesOf(Models(list))[0]
	for i, m := range list {
		row := table.Rows[i]
		if row[0] != m.Name {
			t.Errorf("%s is listed as %s", m.Name, row[0])
		}
		reads(t, m.Name, row[1], float64(m.Parameters), parseBillions)
		reads(t, m.Name, row[2], float64(m.Active), parseBillions)
		reads(t, m.Name, row[3], float64(m.Weights), parseBytes)
		if m.KVPerToken > 0 {
			reads(t, m.Name, row[4], float64(m.KVPerToken), parseBytes)
		}
		reads(t, m.Name, row[5], float64(m.Context), parseCount)
	}
	links := LinkList(machines)
	last := tablesOf(Links(links))[0]
	for i, l := range links {
		row := last.Rows[i]
		reads(t, l.Name, row[1], l.Bandwidth, units.ParseByteRate)
		if l.Latency > 0 {
			reads(t, l.Name, row[2], l.Latency, units.ParseDuration)
		}
		if row[0] != l.Name || row[3] != l.Port || l.Port == "" || row[4] == "" {
			t.Errorf("%+v is listed as %q", l, row)
		}
	}
	engines := EngineList(steptime.Engines())
	presets := tablesOf(Engines(engines))[0]
	for i, e := range engines {
		row := presets.Rows[i]
		reads(t, e.Name, row[3], float64(e.Graph), parseCount)
		if row[0] != e.Name || row[1] != units.FormatDuration(e.Request) ||
			row[2] != units.FormatDuration(e.HostStep) || row[4] != e.Title {
			t.Errorf("%+v is listed as %q", e, row)
		}
	}
	for _, c := range []struct {
		table doc.Block
		left  []int
	}{{rows, []int{0}}, {table, []int{0}}, {last, []int{0, 3, 4}}, {presets, []int{0, 4}}} {
		if !slices.Equal(c.table.Left, c.left) {
			t.Errorf("the words of %v are columns %v", c.table.Header, c.table.Left)
		}
	}
}

// Each policy is under the name of its family, which is said once, and followed by its parameters,
// further to the right; a key is followed by its meaning.
func TestPoliciesAreByFamily(t *testing.T) {
	list := PolicyList(policies.Default())
	blocks, families := Policies(list), map[string]bool{}
	at := 0
	next := func() doc.Block { at++; return blocks[at-1] }
	for _, p := range list {
		if !families[p.Family] {
			families[p.Family] = true
			if h := next(); h.Kind != doc.Heading || h.Words != p.Family {
				t.Fatalf("%s begins with %+v", p.Family, h)
			}
		}
		name := next()
		if !strings.HasPrefix(name.Words, p.Name+": ") {
			t.Fatalf("%s is listed as %q", p.Name, name.Words)
		}
		for _, param := range p.Params {
			if b := next(); !strings.HasPrefix(b.Words, param.Name+": ") ||
				!strings.HasSuffix(b.Words, "("+param.Default+")") || b.Indent <= name.Indent {
				t.Errorf("%s of %s is listed as %+v", param.Name, p.Name, b)
			}
		}
	}
	if at != len(blocks) || len(families) != 6 {
		t.Errorf("%d of %d blocks, of %d families", at, len(blocks), len(families))
	}
	keys := Keys([]scenarios.Key{{Path: "a", Takes: "text", Means: "one"}, {Path: "b",
		Means: "two"}})
	said := string(keys.Terminal(false))
	if said != "a (text)\n    one\nb\n    two\n" {
		t.Errorf("%q", said)
	}
}

// The parts of the memory are taken off what is usable, and what is left is the KV cache: the bytes
// that are printed add up, with experts, drafters and adapters where there are any.
func TestMemoryAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		some := rapid.SampledFrom([]float64{0, 1e9, 2e9})
		p := steptime.MemoryPlan{Total: 80e9, Usable: 72e9, Activations: 3e9, Context: 1e9,
			Experts: some.Draw(t, "experts"), Draft: some.Draw(t, "drafter"),
			Adapters: some.Draw(t, "adapters"), Ranks: rapid.IntRange(1, 2).Draw(t, "ranks"),
			KVBytesPerToken: 1e5, BlockTokens: 16, Blocks: 1000, ContextTokens: 2000, Contexts: 7}
		p.Tokens = p.Blocks * p.BlockTokens * p.Ranks
		p.Weights = 20e9 + p.Experts
		p.KV = p.Usable - p.Weights - p.Draft - p.Adapters - p.Activations - p.Context
		p.State = models.SequenceState{Growing: 1e5}
		m := &scenarios.Memory{Plan: p, ChosenTensor: rapid.Bool().Draw(t, "chosen")}
		s := &m.Scenario
		s.Model, s.Hardware.Accelerator, s.Parallelism.Pipeline = "m", "a", 2
		s.Parallelism.Tensor, s.Parallelism.Data = rapid.IntRange(1, 2).Draw(t, "tensor"), 3
		s.Parallelism.Expert = rapid.SampledFrom([]int{1, 4}).Draw(t, "expert")
		s.Memory.Utilization = 0.9
		s.Adapters, s.Speculation = &scenarios.Adapters{}, &scenarios.Speculation{}
		fits := p.Err() == nil
		list := Memory(m)
		said := string(list.Terminal(false))
		table := tablesOf(list)[0]
		left, rows := 0.0, map[string][]string{}
		for _, row := range table.Rows {
			rows[row[0]] = row
			sign, bytes, _ := strings.Cut(row[1], " ")
			switch {
			case row[0] == "usable":
				left, _ = parseBytes(row[1])
			case sign == "−":
				b, err := parseBytes(bytes)
				testkit.OK(t, err)
				left -= b
			case sign == "=":
				kv, err := parseBytes(bytes)
				testkit.OK(t, err)
				if math.Abs(kv-left) > 1e-9*p.Total {
					t.Errorf("%g bytes are left, the KV cache has %g:\n%s", left, kv, said)
				}
			}
		}
		for name, is := range map[string]bool{"routed experts": p.Experts > 0,
			"drafter": p.Draft > 0, "adapters": p.Adapters > 0, "KV cache": true} {
			if (rows[name] != nil) != is {
				t.Errorf("%s is shown: %v, of %+v", name, !is, p)
			}
		}
		n := 6 * s.Parallelism.Tensor
		for words, is := range map[string]bool{fmt.Sprintf("m on %d × a\n", n): true,
			"does not hold this model": m.ChosenTensor && s.Parallelism.Tensor > 1,
			"on each of 2 ranks":       fits && p.Ranks == 2,
			"1/4 of the experts":       p.Experts > 0 && s.Parallelism.Expert == 4,
			"split like the layers":    p.Experts > 0 && s.Parallelism.Expert == 1,
			"Does not fit":             !fits} {
			if strings.Contains(strings.Join(strings.Fields(said), " "),
				strings.TrimSpace(words)) != is {
				t.Errorf("%q is said: %v\n%s", words, !is, said)
			}
		}
		said = strings.Join(strings.Fields(said), " ")
		if fits && !strings.Contains(said, units.Count(p.Tokens)+" tokens: 7 requests of 2,000") ||
			!strings.Contains(said, "· free 10%") { // which the engine may not use
			t.Error(said)
		}
		e := NewMemoryEntry(m)
		if taken := e.Weights + e.Draft + e.Activations + e.Engine + e.KV +
			p.Adapters; math.Abs(taken-e.Usable) > 1 || e.Fits != fits ||
			e.Tokens != p.Tokens || e.Blocks != 1000 || e.Contexts != 7 {
			t.Errorf("%+v of %+v", e, p)
		}
	})
	for missing, want := range map[float64]string{3e9: "Does not fit: 3 GB (2.794 GiB) are " +
		"missing on each accelerator. Less.", 0: "Does not fit into"} {
		m := &scenarios.Memory{Advice: "Less."}
		m.Plan = steptime.MemoryPlan{Total: 8e9, Usable: 8e9, Weights: 11e9, Missing: missing}
		if said := strings.Join(strings.Fields(string(Memory(m).Terminal(false))),
			" "); !strings.Contains(said, want) || strings.Contains(said, "at once") {
			t.Errorf("%q does not say %q", said, want)
		}
	}
}

// A config is read with its sizes: state grows in proportion to the tokens of a plain transformer,
// weights are two bytes for each of its 16-bit parameters; a file that is none is refused with its
// name, and a folder without any is.
func TestConfigsAreListed(t *testing.T) {
	const config = `{"architectures": ["LlamaForCausalLM"], "model_type": "llama",
"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
"num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 4096,
"torch_dtype": "bfloat16"}`
	list, err := ConfigList(fstest.MapFS{"small_config.json": {Data: []byte(config)},
		"bad_config.json":       {Data: []byte("{")},
		"config.json":           {Data: []byte(config)},
		"hf_quant_config.json":  {Data: []byte("{}")},
		"sub/other_config.json": {Data: []byte(config)}})
	testkit.OK(t, err)
	names := []string{}
	for _, e := range list {
		names = append(names, e.Name)
	}
	if !slices.Equal(names, []string{"bad", "config.json", "small"}) {
		t.Fatalf("listed are %q", names)
	}
	small := list[2]
	var bytes int64
	for _, n := range small.Weights {
		bytes += n
	}
	// 8 heads of 128 keys and values in 32 layers, of two bytes
	if perToken := int64(2 * 8 * 128 * 32 * 2); list[0].Refused == "" || small.Refused != "" ||
		!slices.Equal(small.State, []int64{1024 * perToken, 32768 * perToken,
			131072 * perToken}) || bytes != 2*small.Parameters || small.Active > small.Parameters {
		t.Errorf("%+v", small)
	}
	said := string(Configs(list).Terminal(false))
	lines := strings.Split(said, "\n")
	if !strings.HasPrefix(lines[1], "small ") || !strings.Contains(said, "\n\nbad is refused: ") ||
		strings.Contains(said, "small is refused") {
		t.Errorf("%s", said)
	}
	if len(lines[1]) != len(lines[0]) {
		t.Errorf("%q is not as wide as %q", lines[1], lines[0])
	}
	if !strings.HasPrefix(list[1].Refused, "hf_quant_config.json: ") { // which is read beside it
		t.Errorf("%q", list[1].Refused)
	}
	if sum, mostly := total(map[hardware.DType]int64{"a": 1, "b": 3, "c": 3}); sum != 7 ||
		mostly != "b" {
		t.Errorf("%d bytes, mostly %s", sum, mostly)
	}
	if _, err := ConfigList(fstest.MapFS{"readme": {}}); err == nil {
		t.Error("a folder without configs is listed")
	}
}

// A larger cache finds no less, and none more than its bound, which all reach where every block
// fits; the text has a row for each cache. Without sizes, they double up to all blocks.
func TestReuseGrowsToItsBound(t *testing.T) {
	var lines strings.Builder
	for i := range 4 { // each of ten blocks is used twice
		fmt.Fprintf(&lines, `{"timestamp": %d, "input_length": 5120, "output_length": 1, `+
			`"hash_ids": [%s]}`+"\n", i, []string{"1,2,3,4,5", "6,7,8,9,10", "1,2,3,4,5",
			"6,7,8,9,10"}[i])
	}
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	testkit.OK(t, os.WriteFile(path, []byte(lines.String()), 0o600))
	curve, err := reuse.Read(path, trace.Options{})
	testkit.OK(t, err)
	r := NewReuse(curve, nil)
	for i, c := range r.Caches {
		if i > 0 && (c.Blocks < r.Caches[i-1].Blocks || c.Found < r.Caches[i-1].Found) ||
			c.Found > c.Bound {
			t.Errorf("%+v after %+v", c, r.Caches[max(0, i-1)])
		}
	}
	if first, last := r.Caches[0], r.Caches[len(r.Caches)-1]; first.Blocks != 1 ||
		last.Blocks != 10 || last.Found != 0.5 ||
		last.Bound != 0.5 || r.Caches[len(r.Caches)-2].Blocks != 5 {
		t.Errorf("%+v", r.Caches)
	}
	r.Caches = []ReuseCache{{Blocks: 7, Found: 0.125, Bound: 0.5}, {Blocks: 8}}
	r.BlockTokens = 16
	rows := strings.Split(strings.TrimSuffix(r.Text(), "\n"), "\n")
	if !strings.HasPrefix(rows[0], "4 requests with 20 blocks of 16 tokens, 10 of them") ||
		!slices.Equal(strings.Fields(rows[3]), []string{"7", "12.50%", "50.00%"}) ||
		len(rows) != 5 {
		t.Errorf("%q", rows)
	}
	for _, row := range rows[3:] { // figures end where their titles do
		for _, title := range []string{"cache/blocks", "kept", "(used next)"} {
			end := strings.Index(rows[2], title) + len(title)
			if len(row) < end || row[end-1] == ' ' || len(row) > end && row[end] != ' ' {
				t.Errorf("%q is not below %q", row, rows[2])
			}
		}
	}
	if r.BlockTokens = 0; strings.Contains(r.Text(), "tokens") {
		t.Error(r.Text())
	}
}

// The series of a run has a row for each sample, with its time in seconds and its share of KV.
func TestSeriesHasItsSamples(t *testing.T) {
	var out strings.Builder
	points := []metrics.Point{{At: 1500 * sim.Millisecond, Waiting: 1, Running: 2, Decoding: 3,
		KVUsage: 0.25, Up: 4}, {At: 2 * sim.Second}}
	testkit.OK(t, writeSeries(&out, points))
	want := "time_s,waiting,running,decoding,kv_usage,replicas_up\n1.500,1,2,3,0.250000,4\n" +
		"2.000,0,0,0,0.000000,0\n"
	if out.String() != want {
		t.Errorf("%q", out.String())
	}
}

// A row of the roofline has its operator's figures, of the roof at most all of it; the title says
// of how many accelerators it is one, and the first and last step of each phase has its operators.
func TestRooflineShowsItsSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 2).Draw(t, "accelerators")
		r := &Roofline{Model: "m", Accelerator: "a", Accelerators: n, Peak: 1e15, Bandwidth: 1e12,
			Ridge: 1000, Context: 99, Stages: rapid.IntRange(1, 2).Draw(t, "stages")}
		operators, unfit := 0, false
		phases := rapid.SliceOfN(rapid.SampledFrom([]string{"prefill", "decode"}), 1, 5).
			Draw(t, "phases")
		slices.Sort(phases)
		for i, phase := range phases {
			fits := i != 1
			unfit = unfit || !fits
			p := RooflinePoint{Name: fmt.Sprint(phase, " ", i), FLOPs: 1, Bytes: 1, Time: 0.001,
				Intensity: 10, Rate: 5e12, Roof: 1e13, Bound: steptime.Memory}
			r.Steps = append(r.Steps, RooflineStep{Phase: phase, Fits: fits, RooflinePoint: p,
				Tokens: i + 1, Operators: []RooflinePoint{{Name: "op", Time: 0.002}}})
			if i == 0 || i == len(phases)-1 || phases[i-1] != phase || phases[i+1] != phase {
				operators++
			}
		}
		list := r.Blocks()
		said := strings.Join(strings.Fields(string(list.Terminal(false))), " ")
		table, ops := tablesOf(list)[0], 0
		for _, row := range table.Rows {
			if strings.TrimSpace(row[0]) == "op" {
				if ops++; row[1] != "–" || row[5] != "2 ms" {
					t.Errorf("an operator without a place is %q", row)
				}
			} else if row[1] != "10" || row[2] != "5" || row[3] != "50%" || row[5] != "1 ms" ||
				row[6] != "memory" || strings.Count(row[4], "█") != 4 {
				t.Errorf("a step is %q", row)
			}
		}
		if ops != operators || len(table.Rows) != len(phases)+operators {
			t.Errorf("%d rows with %d operators, want %d of %q", len(table.Rows), ops, operators,
				phases)
		}
		for words, is := range map[string]bool{"m on a, one of 2": n == 2, "m on a": true,
			"passes through 2 stages": r.Stages == 2, "contexts of 100 tokens": unfit,
			"intensity": false} {
			if strings.Contains(said, words) != is {
				t.Errorf("%q is said: %v\n%s", words, !is, said)
			}
		}
		if first := slices.Index(phases, "decode"); first == 0 &&
			!strings.Contains(said, "A decode step of batch 1 does 10 FLOP for each byte that it "+
				"moves, 100 times fewer than the ridge") {
			t.Error(said)
		}
	})
}
