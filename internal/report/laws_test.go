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
	"time"
	"unicode/utf8"

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
		left, rows, at := 0.0, map[string][]string{}, -1
		order := []string{"memory", "usable", "weights", "routed experts", "drafter", "adapters",
			"activation peak", "engine", "KV cache"}
		for _, row := range table.Rows {
			if i := slices.Index(order, row[0]); i <= at {
				t.Errorf("%s comes late:\n%s", row[0], said)
			} else {
				at = i
			}
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
	rows := strings.Split(strings.TrimSuffix(words(r), "\n"), "\n")
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
	if r.BlockTokens = 0; strings.Contains(words(r), "tokens") {
		t.Error(words(r))
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
				row[6] != "memory" || strings.Count(row[4], "█") != 4 ||
				utf8.RuneCountInString(row[4]) != 8 {
				t.Errorf("a step is %q", row)
			}
		}
		if ops != operators || len(table.Rows) != len(phases)+operators {
			t.Errorf("%d rows with %d operators, want %d of %q", len(table.Rows), ops, operators,
				phases)
		}
		for words, is := range map[string]bool{"m on a, one of 2": n == 2, "m on a": true,
			"passes through 2 stages": r.Stages == 2, "contexts of 100 tokens": unfit,
			"1,000 FLOP for each byte (the ridge)": true, units.FormatFLOPRate(1e15): true,
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

// A lesson's table has the time of each batch that fits, and tokens of all users that are those of
// one times the batch. A prompt is said to be bound by memory as long as it is short of the ridge.
func TestLessonsFollowTheLedger(t *testing.T) {
	for _, c := range []struct {
		model, accelerator string
		prompt, context    int
		set                []string
	}{{"llama-3.1-8b", "h100", 1, 100, nil}, {"llama-3.1-8b", "h100", 64, 4000, nil},
		{"llama-3.1-8b", "h100", 4096, 100_000, nil}, {"qwen3-8b", "a100-80gb", 16, 131_000, nil},
		{"llama-3.1-8b", "l40s", 512, 60_000, []string{"parallelism.tensor=2"}}} {
		file, err := scenarios.Describe(c.model, c.accelerator, c.set...)
		testkit.OK(t, err)
		steps, err := file.Steps(policies.Default())
		testkit.OK(t, err)
		list := NewLesson(steps, hardware.Accelerator{Bandwidth: 1e9}, c.prompt, c.context).Blocks()
		var headings []string
		for _, b := range list {
			if b.Kind == doc.Heading {
				headings = append(headings, b.Words)
			}
		}
		if !slices.Equal(headings[1:], []string{"One token for one user", "Many users at once",
			"The prompt", "The KV cache", "Two latencies"}) {
			t.Errorf("%v: sections %q", c, headings)
		}
		room, batches := steps.Room(c.context+1), map[string]bool{}
		for _, row := range tablesOf(list)[0].Rows {
			batch, err := strconv.Atoi(row[0])
			testkit.OK(t, err)
			batches[row[0]] = true
			if (row[1] == "does not fit") != (batch > room) {
				t.Errorf("%v: room for %d, a batch of %d takes %s", c, room, batch, row[1])
			}
			if batch > room {
				continue
			}
			step := steps.Decode(batch, c.context)
			took, sum := step.Ledger.Time().Seconds(), step.Ledger.Sum()
			if row[1] != units.FormatDuration(took) ||
				row[4] != units.Figure(sum.Intensity()) {
				t.Errorf("%v: a batch of %d is %q", c, batch, row)
			}
			for k, want := range []float64{step.Given / took,
				float64(batch) * step.Given / took} {
				if x, err := parseCount(row[2+k]); err != nil || math.Abs(x-want) > 5e-3*want {
					t.Errorf("%v: a batch of %d gives %s tokens/s, want %g", c, batch, row[2+k],
						want)
				}
			}
		}
		for _, batch := range []int{1, 8, 64, 256, min(256, max(1, room))} {
			if !batches[strconv.Itoa(batch)] {
				t.Errorf("%v: no batch of %d in %v", c, batch, batches)
			}
		}
		said := strings.Join(strings.Fields(string(list.Terminal(false))), " ")
		most := 1
		for _, batch := range []int{8, 64, 256, min(room, 256)} {
			if batch <= room {
				most = max(most, batch)
			}
		}
		if most > 1 { // a token each, in the time of a step
			one, many := steps.Decode(1, c.context), steps.Decode(most, c.context)
			wait := many.Ledger.Time().Seconds() / one.Ledger.Time().Seconds()
			want := fmt.Sprintf("%d users get %s times the tokens of one, and each waits %s times "+
				"as long", most, units.Times(float64(most)/wait), units.Times(wait))
			if !strings.Contains(said, want) {
				t.Errorf("%v: %q is not said in %s", c, want, said)
			}
		}
		request, token := steps.Clock.RequestLatency()
		front := request.Seconds() + float64(c.prompt)*token.Seconds()
		prefill := steps.Prompt(c.prompt).Time().Seconds()
		if want := fmt.Sprintf("that is alone takes %s + %s = %s.", units.FormatDuration(prefill),
			units.FormatDuration(front), units.FormatDuration(prefill+front)); !strings.Contains(
			said, want) {
			t.Errorf("%v: %q is not said", c, want)
		}
		one := steps.Decode(1, c.context)
		if want := fmt.Sprintf("%s for each token against %s when decoding",
			units.FormatDuration(prefill/float64(c.prompt)),
			units.FormatDuration(one.Ledger.Time().Seconds())); !strings.Contains(said, want) {
			t.Errorf("%v: %q is not said", c, want)
		}
		flops, bandwidth := steps.Clock.Peaks()
		sum := steps.Prompt(c.prompt).Sum()
		short := sum.Intensity() < flops/bandwidth && sum.Bound == steptime.Memory
		for words, is := range map[string]bool{"as short as this": short,
			"Prefill is bound by": !short, "could serve a whole batch": room < 8 &&
				!batches["2"] && room <= 1} {
			if strings.Contains(said, words) != is {
				t.Errorf("%v: %q is said: %v", c, words, !is)
			}
		}
		r := NewRoofline(steps, []int{c.prompt, 10_000_000}, []int{1, room, room + 1}, c.context)
		for _, s := range r.Steps {
			want := s.Phase == "decode" && s.Tokens <= room ||
				s.Phase == "prefill" && steps.Room(s.Tokens) >= 1
			if s.Name != fmt.Sprint(s.Phase, " ", s.Tokens) {
				t.Errorf("%s %d is called %q", s.Phase, s.Tokens, s.Name)
			}
			if s.Fits != want {
				t.Errorf("%v: %s fits: %v, with room for %d", c, s.Name, s.Fits, room)
			}
		}
	}
}

// The table of requests has a row for each that ends: whole, cut with what its user had, or turned
// away with nothing.
func TestEachRequestHasARow(t *testing.T) {
	var out strings.Builder
	r := NewRequests(&out)
	s := &sim.Sequence{FirstToken: 2 * sim.Second, LastToken: 4 * sim.Second,
		Scheduled: sim.Second}
	s.ID, s.Prompt, s.Output = 1, 10, 3
	r.Finished(s)
	r.Rejected(&sim.Request{ID: 2, Prompt: 20, Arrival: sim.Second}, 0)
	r.Ended(&sim.Sequence{Request: sim.Request{ID: 3, Prompt: 30}}, 0, 5*sim.Second)
	testkit.OK(t, r.Close())
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != 4 {
		t.Fatalf("%q", lines)
	}
	if lines[1] != "1,0,0,completed,0.000000000,10,3,0,0,1000.000000,2000.000000,1000.000000,"+
		"4000.000000" {
		t.Errorf("%q", lines[1])
	}
	for i, want := range []string{"2,0,0,rejected: ", "3,0,0,rejected: "} {
		if !strings.HasPrefix(lines[2+i], want) ||
			strings.Count(lines[2+i], ",") != strings.Count(lines[0], ",") {
			t.Errorf("%q does not begin with %q", lines[2+i], want)
		}
	}
}

// Progress counts the requests that end, however they end, and shows nothing on what is no
// terminal.
func TestProgressCounts(t *testing.T) {
	var out strings.Builder
	if NewProgress(&out, 5) != nil {
		t.Error("there is progress on what is no terminal")
	}
	p := &Progress{out: &out, total: 3 * stride, started: time.Now().Add(-time.Hour)}
	for i := range stride {
		if p.bar != nil {
			t.Fatalf("a bar after %d requests", i)
		}
		if i%2 == 0 {
			p.Finished(nil)
		} else {
			p.Rejected(nil, 0)
		}
	}
	if p.done != stride || p.bar == nil {
		t.Errorf("%d of %d requests are counted", p.done, stride)
	}
	p.End()
	(&Progress{}).End()
	(*Progress)(nil).End()
	fresh := &Progress{out: &out, total: stride, started: time.Now()}
	for range stride {
		fresh.Finished(nil)
	}
	if fresh.bar != nil {
		t.Error("a run of no time has a bar")
	}
	out.Reset()
	c := NewCounter(&out, "runs")
	c.Start(3)
	c.Step()
	if c.End(); out.Len() > 0 {
		t.Errorf("a counter shows %q", out.String())
	}
}

// words returns the text of a curve of reuse; a builder does not fail.
func words(r *Reuse) string {
	var text strings.Builder
	_ = r.WriteText(&text)
	return text.String()
}
