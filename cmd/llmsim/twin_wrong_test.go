package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// requestTable returns a CSV file of 60 requests with those columns, of which cell gives the rows:
// for request i, sent at a time.
func requestTable(header string, cell func(i int, at float64) string) string {
	text := header + "\n"
	at := 0.0
	for i := range 60 {
		at += 0.05 + 0.3*math.Mod(float64(i)*0.618, 1)
		text += cell(i, at) + "\n"
	}
	return text
}

// Inputs that are wrong in a way of their own are refused by name: the file, the line, the column
// or the run, what was found and what is wanted. No deployment is written of them.
func TestWrongInputsToTheTwin(t *testing.T) {
	const requests = "arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s"
	const runs = "run,model,gpu,tensor_parallel,rate_rps,stage_s,prompt_tokens,output_tokens," +
		"ttft_mean_ms,ttft_p50_ms,ttft_p99_ms,tpot_mean_ms,e2e_mean_ms"
	run := func(cells string) string { return runs + "\n" + strings.Repeat(cells+"\n", 4) }
	times := func(ttft, e2e float64) string {
		return requestTable(requests, func(i int, at float64) string {
			more := 1 + 0.02*float64(i%5)
			return fmt.Sprintf("%.4f,500,30,%.8g,%.8g", at, ttft*more, e2e*more)
		})
	}
	row := func(n int, cells string) string { // a right table but for line n
		lines := strings.Split(times(0.042, 0.26), "\n")
		lines[n-1] = cells
		return strings.Join(lines, "\n")
	}
	bench := func(model, rest string) string {
		return fmt.Sprintf(`{"model_id":%q,"tokenizer_id":"m","completed":60,"duration":20,`+
			`"request_rate":3,"total_input_tokens":30000,"total_output_tokens":1800,`+
			`"mean_ttft_ms":42,"mean_tpot_ms":7.5,"mean_e2el_ms":260%s}`, model, rest)
	}
	for name, c := range map[string]struct {
		file, text, flag string
		want             []string
	}{
		"seconds for milliseconds": {"a.csv", strings.Replace(times(0.042, 0.26), "ttft_s,e2e_s",
			"ttft_ms,e2e_ms", 1), "", []string{"a.csv", "run a", "median TPOT", "another unit"}},
		"milliseconds for seconds": {"a.csv", times(42, 260), "", []string{"a: found a T",
			"milliseconds in a column that ends in _s"}},
		"TTFT for both": {"a.csv", times(0.26, 0.26), "", []string{"a.csv", "TTFT equal to E2E"}},
		"columns exchanged": {"a.csv", times(0.26, 0.042), "", []string{"a.csv: line 2",
			"first token comes 0.26 s after", "no earlier"}},
		"token before sending": {"a.csv", "arrival_s,prompt_tokens,output_tokens,first_token_s," +
			"last_token_s\n5,10,10,4,6\n", "", []string{"a.csv: line 2", "times go backwards"}},
		"no arrival": {"a.csv", row(3, ",500,30,0.04,0.26"), "", []string{"a.csv: line 3",
			"arrival_s: found no value", "want the time"}},
		"no arrivals": {"a.csv", strings.Replace(times(0.042, 0.26), "arrival_s", "start", 1), "",
			[]string{"run a", "without the times", "--map arrival=COLUMN"}},
		"no prompt": {"a.csv", row(4, "1,,30,0.04,0.26"), "", []string{"a.csv: line 4",
			"prompt_tokens: found no value", "want the number of tokens"}},
		"a word": {"a.csv", row(5, "1,500,thirty,0.04,0.26"), "", []string{"a.csv: line 5",
			`output_tokens: found "thirty", want a number`}},
		"a negative length": {"a.csv", row(6, "1,-500,30,0.04,0.26"), "", []string{"a.csv: line 6",
			`prompt_tokens: found "-500", want a number from 0`}},
		"no number": {"a.csv", row(7, "1,500,30,NaN,0.26"), "", []string{"a.csv: line 7",
			`ttft_s: found "NaN"`}},
		"an unknown field": {"a.csv", times(0.042, 0.26), "--map=frist=x", []string{"frist",
			"first"}},
		"an unknown column": {"a.csv", times(0.042, 0.26), "--map=ttft=ttft_sec",
			[]string{"a.csv", "ttft_sec", "ttft_s"}},
		"no rows": {"a.csv", requests + "\n", "", []string{"a.csv", "no row below them"}},
		"another model": {"a.json", bench("Qwen/Qwen3-8B", ""), "", []string{"a.json",
			"model Qwen/Qwen3-8B", "want the scenario's llama-3.1-8b"}},
		"another engine": {"a.json", `{"backend":"sglang","mean_e2e_latency_ms":260,` +
			`"completed":60,"duration":20,"mean_ttft_ms":42,"mean_tpot_ms":7.5}`, "",
			[]string{"a.json", "engine sglang", "want the scenario's vllm"}},
		"another GPU": {"a.csv", run("a,,A100-80GB,1,3,20,500,30,42,42,60,7.5,260"), "",
			[]string{"a.csv", "hardware A100-80GB", "want the scenario's h100-sxm"}},
		"more GPUs": {"a.csv", run("a,,H100,4,3,20,500,30,42,42,60,7.5,260"), "",
			[]string{"a.csv", "parallelism.tensor 4", "want the scenario's 1"}},
		"one figure for all": {"a.csv", run("a,,H100,1,3,20,500,30,42,42,60,42,42"), "",
			[]string{"run a 3/s", "mean E2E of 42 ms", "want about TTFT + TPOT", "1.26 s"}},
		"a median above the p99": {"a.csv", run("a,,H100,1,3,20,500,30,42,142,60,7.5,260"), "",
			[]string{"run a 3/s", "median TTFT of 142 ms", "p99 of 60 ms"}},
		"a slow server": {"a.csv", times(0.084, 0.6), "", []string{"the scenario is no twin",
			"no file is written"}},
		"half a file": {"a.json", bench("m", "")[:90], "", []string{"a.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			writeNamedFiles(t, ".", "```yaml s.yaml\nmodel: llama-3.1-8b\nhardware: h100-sxm\n"+
				"engine: vllm\nworkload: {rate: 5/s, prompt: 500, output: 30, requests: 20}\n```\n")
			testkit.OK(t, os.WriteFile(c.file, []byte(c.text), 0o600))
			observe := []string{"twin", "observe", c.file, "--out", "seen"}
			if c.flag != "" {
				observe = append(observe, c.flag)
			}
			code := exitDone
			var stdout, stderr bytes.Buffer
			for _, args := range [][]string{observe, {"twin", "adapt", "seen", "--scenario",
				"s.yaml", "--out", "deployment.yaml"}} {
				if code == exitDone {
					code = execute(context.Background(), args, &stdout, &stderr)
				}
			}
			if code != exitBadInput && !(code == exitSLOMissed && name == "a slow server") {
				t.Errorf("exit code %d\n%s", code, stdout.String())
			}
			for _, words := range c.want {
				if !strings.Contains(stderr.String(), words) {
					t.Errorf("%q is not in %s", words, stderr.String())
				}
			}
			if _, err := os.Stat("deployment.yaml"); err == nil {
				t.Error("a deployment is written")
			}
		})
	}
}
