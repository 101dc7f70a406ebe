package ask

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

func thread(t *testing.T, name string) string {
	t.Helper()
	return string(testkit.Read(t, filepath.Join("testdata", name)))
}

func ask(t *testing.T, text string, o Options) *Answer {
	t.Helper()
	a, err := Ask(context.Background(), text, o)
	testkit.OK(t, err)
	return a
}

// figures are what an answer predicts, by name.
func figures(a *Answer) map[string]float64 {
	of := map[string]float64{}
	for _, f := range a.Figures {
		of[f.Run+f.Name] = f.Predicted
	}
	return of
}

// Each thread is understood: its server, its accelerators, its load, its figures; and every
// predicted figure is what the emitted scenario gives.
func TestThreads(t *testing.T) {
	for name, want := range map[string]struct {
		setup, load, says string
		reported          map[string]float64
	}{
		"vllm_table.txt": {"H100 SXM", "128", "", map[string]float64{"mean_ttft_ms": 3105.1,
			"mean_tpot_ms": 16.1, "output_throughput": 3658.5, "p99_ttft_ms": 4900}},
		"sglang_log.txt": {"A100 SXM", "32", "", map[string]float64{
			"mean_tpot_ms": 500 * (32/1634.73 + 32/1640.24)}},
		"kv_cache.txt": {"2 × NVIDIA L40S", "", "", map[string]float64{
			"kv_cache_tokens": 196608, "kv_cache_gib": 18.02}},
		"slow_tpot.txt": {"8 × NVIDIA H100", "8", "times its roofline",
			map[string]float64{"mean_tpot_ms": 40.05}},
		"impossible.txt": {"4 × NVIDIA A100", "1", "impossible",
			map[string]float64{"mean_tpot_ms": 5}},
		"trtllm.txt": {"H200", "128", "", map[string]float64{"mean_tpot_ms": 12.3}},
		"llmperf.txt": {"4 × NVIDIA A100", "5", "", map[string]float64{
			"mean_ttft_ms": 250}},
		"question_only.txt": {"A100 PCIe", "4/s", "", map[string]float64{"mean_ttft_ms": 0}},
		"two_tables.txt":    {"L40S", "32", "", map[string]float64{"mean_tpot_ms": 31.4}},
		"markdown.txt": {"L40S", "8 users", "", map[string]float64{"mean_ttft_ms": 180,
			"p99_ttft_ms": 402, "output_throughput": 308}},
		"prose.txt": {"2 × NVIDIA H100 PCIe", "16", "", nil},
		"threads/01_vllm_queue.txt": {"H100 SXM", "128 users", "better than predicted",
			map[string]float64{"mean_ttft_ms": 7610.22, "p99_tpot_ms": 33.08,
				"output_throughput": 2067.38}},
		"threads/02_sglang_pcie.txt": {"4 × NVIDIA A100 PCIe", "32 users", "KV cache",
			map[string]float64{"mean_tpot_ms": 63.28, "mean_e2el_ms": 35458.1,
				"kv_cache_tokens": 359870}},
		"threads/03_llamabench_4090.txt": {"llama-3.1-8b (q4_k_m) on 1 × NVIDIA GeForce RTX 4090",
			"outputs fixed(128)", "", map[string]float64{"output_throughput": 148.52,
				"mean_tpot_ms": 1000 / 148.52}},
		"threads/04_trtllm.txt": {"llama-3.1-8b (fp8) on 1 × NVIDIA H200", "246 users",
			"better than predicted", map[string]float64{"mean_ttft_ms": 288.312,
				"mean_tpot_ms": 14.388, "mean_e2el_ms": 15007.4421,
				"output_throughput": 16805.888}},
		"threads/06_kv_log.txt": {"L40S", "16 users", "", map[string]float64{
			"kv_cache_tokens": 99680, "kv_cache_gib": 15.21, "weights_gib": 22.8425,
			"output_throughput": (402.1*10 + 398.6*10) / 20}},
		"threads/07_pd.txt": {"pools: prefill × 1, decode × 1", "Poisson, 6/s", "eager",
			map[string]float64{"p99_ttft_ms": 988.71, "mean_tpot_ms": 9.85}},
		"threads/08_llmperf.txt": {"8 × NVIDIA H100", "16 users", "roofline",
			map[string]float64{"median_ttft_ms": 260.19, "mean_tpot_ms": 22.04,
				"output_throughput": 702.418}},
		"threads/09_guidellm.txt": {"L40S", "3.4/s", "", map[string]float64{
			"mean_ttft_ms": 71.9, "p99_tpot_ms": 15.4, "mean_e2el_ms": 3850}},
		"threads/10_manifest.txt": {"2 × NVIDIA L40S", "48 users", "", map[string]float64{
			"mean_ttft_ms": 512.3, "median_tpot_ms": 38.4, "output_throughput": 1166.02}},
	} {
		t.Run(name, func(t *testing.T) {
			a := ask(t, thread(t, name), Options{})
			if !strings.Contains(a.Setup, want.setup) || !strings.Contains(a.Load, want.load) {
				t.Errorf("understood %q with %q, want %q with %q", a.Setup, a.Load, want.setup,
					want.load)
			}
			said := strings.Join(a.Doubts, " ")
			if !strings.Contains(said, want.says) {
				t.Errorf("doubts %q, want %q", said, want.says)
			}
			for metric, value := range want.reported {
				if got := a.reported(metric); math.Abs(got-value) > 1e-6*value {
					t.Errorf("%s was reported as %g, want %g", metric, got, value)
				}
			}
			file, err := scenarios.Parse("s", a.Scenario())
			testkit.OK(t, err)
			r, err := file.Run(context.Background(), policies.Default())
			testkit.OK(t, err)
			for _, f := range a.Figures {
				if f.unit == "" || f.Run != a.last {
					continue
				}
				ranged := f.Low < f.Predicted && f.Predicted < f.High
				if ranged == unranged(f.Name) {
					t.Errorf("%s is predicted as %g, in %g to %g", f.Name, f.Predicted, f.Low,
						f.High)
				}
				if got := scenarios.MetricNamed(f.Name).Of(r); got != f.Predicted {
					t.Errorf("%s is predicted as %g, and the scenario gives %g", f.Name,
						f.Predicted, got)
				}
			}
			if len(a.Binds) == 0 || len(a.Understood) == 0 && want.reported != nil &&
				a.reported("mean_ttft_ms") > 0 {
				t.Errorf("nothing is said of what binds, or of what was read: %+v", a)
			}
			if n := strings.Count(string(a.Blocks().Terminal(false)), "\n"); n > 45 {
				t.Errorf("the answer has %d lines", n)
			}
			t.Logf("\n%s", a.Blocks().Terminal(false))
		})
	}
}

// Words around the parts, the order of parts, quoting, prompts and fences change no prediction, and
// neither does the unit of the figures.
func TestWhatChangesNothing(t *testing.T) {
	const server = "vllm serve meta-llama/Llama-3.1-8B-Instruct --max-num-seqs 16"
	const load = "vllm bench serve --random-input-len 300 --random-output-len 40 " +
		"--num-prompts 40 --max-concurrency 8"
	table := func(unit, ttft, tpot string) string {
		return "============ Serving Benchmark Result ============\nSuccessful requests:  40\n" +
			"Mean TTFT (" + unit + "):   " + ttft + "\nMean TPOT (" + unit + "):   " + tpot
	}
	ms := table("ms", "31.5", "8.25")
	plain := ask(t, server+"\n"+load+"\nOne L40S.\n"+ms, Options{})
	if len(plain.Figures) != 2 {
		t.Fatalf("%+v", plain.Figures)
	}
	for name, text := range map[string]string{
		"order": ms + "\n\non an L40S\n\n" + load + "\n\n" + server,
		"words": "Hello, I wonder.\n" + server + "\n\nthen\n\n" + load +
			"\n\nNVIDIA L40S, bye\n" + ms,
		"quoted": "> " + strings.ReplaceAll("1x L40S\n$ "+server+"\n# "+load+"\n"+ms, "\n",
			"\n> "),
		"fences": "L40S\n```bash\n" + server + "\n```\n~~~\n" + load + "\n~~~\n```\n" + ms +
			"\n```",
		"split":   strings.ReplaceAll(server+"\n"+load, " --", " \\  \n   --") + "\nL40S\n" + ms,
		"lost":    strings.ReplaceAll(server+"\n"+load, " --", "\n --") + "\nL40S\n" + ms,
		"inline":  "I do `" + server + "` and then `" + load + "` with 1 x L40S.\n" + ms,
		"prose":   "We run " + server + " on an L40S\n" + load + "\n" + ms,
		"seconds": server + "\n" + load + "\nL40S\n" + table("s", "0.0315", "0.00825"),
	} {
		got := ask(t, text, Options{})
		if d := cmp.Diff(figures(plain), figures(got)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		for _, metric := range []string{"mean_ttft_ms", "mean_tpot_ms"} {
			if x, y := got.reported(metric), plain.reported(metric); math.Abs(x/y-1) > 1e-9 {
				t.Errorf("%s: %s is %g, want %g", name, metric, x, y)
			}
		}
		if !slices.Equal(got.Scenario(), plain.Scenario()) {
			t.Errorf("%s: another scenario", name)
		}
	}
	given := ask(t, ms, Options{Server: server, Load: load, GPU: "l40s"})
	if d := cmp.Diff(figures(plain), figures(given)); d != "" {
		t.Errorf("flags: %s", d)
	}
	for _, set := range []string{"", "N=2\n", "N=2\nN=4\n"} { // what is given wins
		v := ask(t, "L40S\n"+set+"vllm serve meta-llama/Llama-3.1-8B-Instruct --max-num-seqs $N\n"+
			load+"\n"+ms, Options{Vars: []string{"N=16"}})
		if d := cmp.Diff(figures(plain), figures(v)); d != "" {
			t.Errorf("variables, %q: %s", set, d)
		}
	}
}

// pool makes a command one of a pool of a fleet.
func pool(role string) string {
	return ` --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_` + role + `"}'`
}

// Prose names the accelerator and the release of the engine, as people write them.
func TestProseNamesTheServer(t *testing.T) {
	const serve = "vllm serve meta-llama/Llama-3.1-8B-Instruct"
	for text, want := range map[string]string{
		"vllm=0.6.2 vs sglang=0.3.2 on 2 H100s\n" + serve:        "h100-sxm 0.6.2",
		"on two A100s, vLLM v0.8.5.post1:\n" + serve:             "a100-80gb-sxm 0.8.5.post1",
		"vLLM Version: 0.10.1 (L40S)\n" + serve:                  "l40s 0.10.1",
		"4x L4, torch 2.3.0\n" + serve:                           "l4 ",
		"H100, vllm 0.6.2 and then vllm 0.7.0\n" + serve:         "h100-sxm ",
		"H200s\ndocker run vllm/vllm-openai:v0.9.0 --model gpt2": "h200-sxm 0.9.0",
		"H100 sglang，0.4.0.post2\n" + strings.Replace(serve, "vllm serve", "python3 -m "+
			"sglang.launch_server --model-path", 1): "h100-sxm 0.4.0.post2",
	} {
		p, err := Read(text, Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := p.GPU + " "
		for _, set := range p.Reading.Settings {
			if version, is := strings.CutPrefix(set, "engine.version="); is {
				got += version
			}
		}
		if got != want {
			t.Errorf("%s: found %s, want %s", text, got, want)
		}
	}
}

// A size beside an accelerator's name is its own: one of another size is taken, or else the size is
// told as an assumption. Sizes of a host's memory and of
// several accelerators together say nothing.
func TestSizesOfAcceleratorsAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"one H100 40GB": "h100-sxm: no h100 of 40 GB is known: the server runs on h100-sxm, " +
			"of h100-sxm (79 GiB), h100-64gb-sxm (63 GiB)",
		"A100 20GB":          "a100-80gb-sxm: no a100 of 20 GB is known: ",
		"NVIDIA-H100-40GB":   "h100-sxm: no h100 of 40 GB",
		"RTX 4090 48GB":      "rtx-4090: no rtx-4090 of 48 GB",
		"H100 94GB":          "h100-nvl: the h100 of 94 GB is read as h100-nvl",
		"A100 40 GB":         "a100-40gb-sxm: ",
		"an A100 SXM (40GB)": "a100-40gb-sxm: ", "A100 PCIe 40 GiB": "a100-40gb-pcie: ",
		"40GB A100": "a100-40gb-sxm: ", "V100 SXM2 16GB": "v100-16gb-sxm2: ",
		"A100 80GB PCIe": "a100-80gb-pcie: ", "H100 80GB HBM3": "h100-sxm: ",
		"8x H100 640GB": "h100-sxm: ", "H100 with 512GB RAM": "h100-sxm: ",
		"H100 512 GB host memory": "h100-sxm: ", "H100 (25 GB free)": "h100-sxm: ",
		"H100 900GB/s": "h100-sxm: ", "B300 288GB": "b300-sxm: ", "B200 192GB": "b200-sxm: ",
		"L40S (48 GB)": "l40s: ", "GH200 96GB HBM3 480GB LPDDR5X": "gh200: ",
		"M3 Max 128GB": "m3-max: ", "TPU v5e 16GB": "tpu-v5e: ",
	} {
		p, err := Read(text+"\nvllm serve meta-llama/Llama-3.1-8B-Instruct\n", Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		told := ""
		for _, words := range p.Assumed {
			if strings.Contains(words, "--gpu names another") {
				told += words
			}
		}
		got := p.GPU + ": " + told
		if !strings.HasPrefix(got, want) || strings.HasSuffix(want, ": ") && want == p.GPU+": " &&
			told != "" {
			t.Errorf("%s: found %s, want %s", text, got, want)
		}
	}
}

// What is missing is asked for, with its flag; what is no thread is refused.
func TestWhatIsMissing(t *testing.T) {
	const server = "vllm serve meta-llama/Llama-3.1-8B-Instruct"
	for text, word := range map[string]string{
		"": "empty", "a\x00b": "NUL", "\xff\xfe": "UTF-8", "hello on an H100": "--server",
		"\x1f\x8b\x00": "gzip", "hello": "--server 'vllm serve MODEL --tensor-parallel-size 2') " +
			"and " +
			"the accelerator (--gpu",
		server: "--gpu", "H100\n" + server + "\n" + server + " --max-num-seqs 8": "2 commands",
		"H100\n" + strings.Replace(server, "serve", "serve -tp 2", 1) + pool("producer") + "\n" +
			server + " -tp 3" + pool("consumer"): "3",
		"H100\n" + server + " --quantization nonsense-format": "nonsense-format",
		"H100\nvllm serve some/one -tp 2":                     "command: model: unknown model",
		"H100\n" + server + " --max-model-len 999999":         "command: --max-model-len: found",
		"H100\n" + server + "\nvllm bench sweep serve " +
			"--bench-cmd x": "give that one",
		"H100\n" + server + "\ninference-perf --config_file c": "paste its text",
		strings.Repeat("a\n", mostLines+2):                     "lines",
		strings.Repeat("word ", 1<<15):                         "bytes",
		strings.Repeat("abcdefg\n", MostBytes/7):               "MiB",
	} {
		_, err := Ask(context.Background(), text, Options{})
		if !scenarios.IsInputError(err) || !strings.Contains(err.Error(), word) {
			t.Errorf("%.40q: the error is %v, want one with %s", text, err, word)
		}
	}
}

// A table is read as itself behind what logs write before its lines, with other ends of lines and
// with commas before decimals, and so is a table of a person's as CSV.
func TestTablesAreReadAsTheyCome(t *testing.T) {
	const head = "H100\nvllm serve meta-llama/Llama-3.1-8B-Instruct -tp 1\n"
	const table = "============ Serving Benchmark Result ============\n" +
		"Successful requests:                     100\n" +
		"Total input tokens:                      100000\n" +
		"Output token throughput (tok/s):         465.95\n" +
		"---------------Time to First Token----------------\n" +
		"Mean TTFT (ms):                          120.98\n" +
		"P99 TPOT (ms):                           14.28\n"
	want, err := Read(head+table, Options{})
	testkit.OK(t, err)
	before := func(words string) string {
		return words + strings.ReplaceAll(strings.TrimSpace(table), "\n", "\n"+words)
	}
	for name, text := range map[string]string{
		"CRLF":     strings.ReplaceAll(table, "\n", "\r\n"),
		"a log":    before("2026-11-29 12:00:01,123 INFO bench: "),
		"a node":   before("[node0] "),
		"a worker": before("(EngineCore_0 pid=271) INFO 11-29 12:03:44 [bench.py:87] "),
		"colours":  before("\x1b[32m"),
		"commas":   strings.ReplaceAll(table, ".", ","),
	} {
		p, err := Read(head+text, Options{})
		if err != nil || len(p.Runs) != 1 || p.Runs[0].Summary != want.Runs[0].Summary ||
			p.Runs[0].Load != want.Runs[0].Load {
			t.Errorf("%s: %v, %v, want %+v", name, p, err, want.Runs[0])
		}
	}
	for _, text := range []string{"users,ttft_p50_s,tpot_ms,output_tok_s\n10,0.1235,12.8,465.5\n",
		"users;ttft p50 (ms);tpot (ms);tok/s\n10;123,5;12,8;465,5\n",
		"| users | TTFT p50 (ms) | TPOT (ms) | tok/s |\n|---|---|---|---|\n| 10 | 123.5 | 12.8 | " +
			"465.5 |\n"} {
		p, err := Read(head+text, Options{})
		if err != nil || len(p.Runs) != 1 || p.Runs[0].Load.Concurrency != 10 ||
			math.Abs(p.Runs[0].Summary.TTFT50-0.1235) > 1e-9 ||
			math.Abs(p.Runs[0].Summary.TPOT-0.0128) > 1e-9 ||
			p.Runs[0].Summary.OutputRate != 465.5 {
			t.Errorf("%s: %+v, %v", text, p, err)
		}
	}
}

// Reading ends soon, whatever is repeated.
func TestHostileThreads(t *testing.T) {
	distinct := func(command string) string {
		var b strings.Builder
		for i := range 40_000 {
			fmt.Fprintf(&b, command+"\n", i)
		}
		return b.String()
	}
	for _, text := range []string{distinct("vllm serve a/%d -tp 2"),
		distinct("vllm bench serve --num-prompts %d"), distinct("apiVersion: %d\nx: 1\n"),
		distinct("x: %d\n\n"), distinct("| %d | 2 | 3 |"), distinct("a: %d ms\n"),
		strings.Repeat("{\n", 40_000), strings.Repeat("[", MostBytes),
		strings.Repeat("vllm serve a --b\n", 40_000), strings.Repeat("x=1\n", 40_000),
		strings.Repeat("vllm bench serve --b\n", 40_000), strings.Repeat("H100 a100 `x`\n", 40_000),
		strings.Repeat("Serving Benchmark Result\nMean TTFT (ms): 1\n", 20_000)} {
		start := time.Now()
		_, err := Read(text, Options{})
		if took := time.Since(start); err == nil || took > 20*time.Second {
			t.Errorf("%.30q: %v after %v", text, err, took)
		}
	}
}

// A rate that does not belong to the TPOT is found by Little's law, and a TPOT below the roofline
// of the batch is said to be so; figures that agree raise no doubt.
func TestDoubts(t *testing.T) {
	const head = "L40S\nvllm serve meta-llama/Llama-3.1-8B-Instruct\nvllm bench serve " +
		"--random-input-len 300 --random-output-len 60 --num-prompts 64 --max-concurrency 32\n" +
		"Serving Benchmark Result\nSuccessful requests: 64\n"
	plain := figures(ask(t, head+"Mean TPOT (ms): 30\nOutput token throughput (tok/s): 900\n",
		Options{}))
	table := func(tpot, rate float64) string {
		return head + fmt.Sprintf("Mean TPOT (ms): %.6f\nOutput token throughput (tok/s): %.6f\n",
			tpot*plain["mean_tpot_ms"], rate*plain["output_throughput"])
	}
	for _, c := range []struct {
		tpot, rate float64
		says       string
	}{{1, 1, ""}, {1.05, 0.97, ""}, {1, 0.1, "decoded at once"}, {0.6, 1.6, "No engine does that"},
		{0.1, 1, "impossible"}, {3, 0.33, "look at"}} {
		doubts := strings.Join(ask(t, table(c.tpot, c.rate), Options{}).Doubts, " ")
		if c.says == "" && doubts != "" || !strings.Contains(doubts, c.says) {
			t.Errorf("TPOT × %g, rate × %g: doubts %q, want %q", c.tpot, c.rate, doubts, c.says)
		}
	}
}

// The near questions are headings of their page.
// Each percentile that a thread states stands beside the predicted one, with a range where errors
// of such a figure were measured; a gap between two tokens is not the time for a token of a
// request.
func TestPercentilesAreCompared(t *testing.T) {
	const head = "vllm serve meta-llama/Llama-3.1-8B-Instruct on H100 SXM\n"
	for text, want := range map[string]string{
		thread(t, "threads/08_llmperf.txt"): "p90_ttft_ms p95_ttft_ms p90_tpot_ms p95_tpot_ms " +
			"p90_e2el_ms p95_e2el_ms p99_e2el_ms median_e2el_ms",
		head + "| concurrency | p90 TTFT (ms) | p95 TTFT (ms) | p95 ITL (ms) |\n|--|--|--|--|\n" +
			"| 8 | 60 | 70 | 9 |\n": "p90_ttft_ms p95_ttft_ms p95_itl_ms",
		head + "P90 TTFT (ms): 60\nP95 TTFT (ms): 70\nP99 ITL (ms): 9\nMean TPOT (ms): 7\n": "" +
			"p90_ttft_ms p95_ttft_ms p99_itl_ms",
		head + `{"model_id": "m", "tokenizer_id": "m", "completed": 9, "p95_ttft_ms": 70, ` +
			`"p90_e2el_ms": 900, "p95_itl_ms": 9}`: "p95_ttft_ms p90_e2el_ms p95_itl_ms",
	} {
		a := ask(t, text, Options{})
		reported := map[string]Figure{}
		for _, f := range a.Figures {
			reported[f.Name] = f
		}
		for name := range strings.FieldsSeq(want) {
			f := reported[name]
			ranged := !strings.HasPrefix(name, "p95") && !strings.Contains(name, "itl")
			if f.Reported == 0 || f.Predicted == 0 || (f.High > 0) != ranged {
				t.Errorf("%.80s: %s is %+v", text, name, f)
			}
		}
		if _, other := reported["p99_tpot_ms"]; other && strings.Contains(want, "p99_itl") {
			t.Errorf("%.80s: a gap is taken for a TPOT", text)
		}
	}
}

func TestTopicsAreHeadings(t *testing.T) {
	for _, topic := range topics() {
		page := string(testkit.Read(t, filepath.Join("..", "..", "docs", topic.page)))
		if !strings.Contains(page, "\n## "+topic.heading+"\n") {
			t.Errorf("docs/%s has no heading %q", topic.page, topic.heading)
		}
	}
}

// What stands behind a command in its line is no part of it, and names the accelerator.
func TestWordsBehindACommandAreNotRead(t *testing.T) {
	for _, command := range []string{"vllm serve Qwen/Qwen3-8B", "trtllm-serve Qwen/Qwen3-8B",
		`vllm serve Qwen/Qwen3-8B --hf-overrides '{"a": 1, "b": "on"}'`} {
		for _, behind := range []string{" on 2x H200", "   # one H200 (SXM)", " (H200)", ", H200",
			" -- H200", " — H200"} {
			p, err := Read(command+behind+"\n", Options{})
			if err != nil || p.Server != command || p.GPU != "h200-sxm" {
				t.Errorf("%s%s: %v, %+v", command, behind, err, p)
			}
		}
	}
}

// Whatever a thread contains, reading it ends, without a panic.
// Most time goes into making inputs smaller: -fuzzminimizetime 1x has it run 400 times a second.
func FuzzRead(f *testing.F) {
	names, err := filepath.Glob("testdata/*.txt")
	testkit.OK(f, err)
	threads, err := filepath.Glob("testdata/threads/*.txt")
	testkit.OK(f, err)
	for _, name := range append(names, threads...) {
		f.Add(string(testkit.Read(f, name)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		p, err := Read(text, Options{})
		if err != nil {
			return
		}
		for i := range p.Runs {
			if _, err := p.loadOf(i, &p.Runs[i]); err != nil && err.Error() == "" {
				t.Error("an error without words")
			}
		}
	})
}
