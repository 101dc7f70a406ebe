package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/fit"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/scenarios"
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

const (
	wrongScenario = "model: llama-3.1-8b\nhardware: h100-sxm\nengine: vllm\n" +
		"workload: {rate: 5/s, prompt: 500, output: 30, requests: 20}\n"
	noTwin         = "the scenario is no twin"
	requestColumns = "arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s"
)

// servedTables returns tables of 240 requests each, at 10/s, as servers of the scenario answer
// them: the first as predicted, the second 1.4 times as slow.
func servedTables(t *testing.T) (tables [2][]string) {
	t.Helper()
	server := fit.Server{Load: func(sets ...string) (*scenarios.File, error) {
		return scenarios.Parse("s.yaml", []byte(wrongScenario), sets...)
	}}
	for i, f := range []scenarios.Factors{{}, {Prompts: 1.4, Memory: 1.4}} {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		var r observed.Run
		for at := 0.0; len(r.Requests) < 240; at += rng.ExpFloat64() / 10 {
			r.Requests = append(r.Requests, observed.Request{Arrival: at,
				Prompt: 300 + rng.IntN(1200), Output: 20 + rng.IntN(100), TTFT: 1, E2E: 1})
		}
		pairs, err := server.Compare(t.Context(), f, &r)
		testkit.OK(t, err)
		for _, p := range pairs {
			noise := math.Exp(0.02 * rng.NormFloat64())
			tables[i] = append(tables[i], fmt.Sprintf("%.4f,%g,%g,%.8g,%.8g", p.At, p.Prompt,
				p.Output, p.TTFT[1]*noise, p.E2E[1]*noise))
		}
	}
	return tables
}

// rowsAt returns a table of requests with rows whose arrivals are scaled, in their order or in that
// of arrival.
func rowsAt(scale float64, inOrder bool, rows ...string) string {
	at := func(row string) float64 {
		cell, _, _ := strings.Cut(row, ",")
		v, _ := strconv.ParseFloat(cell, 64)
		return v
	}
	rows = slices.Clone(rows)
	if inOrder {
		slices.SortFunc(rows, func(a, b string) int { return cmp.Compare(at(a), at(b)) })
	}
	text := requestColumns + "\n"
	for _, row := range rows {
		_, rest, _ := strings.Cut(row, ",")
		text += fmt.Sprintf("%.6f,%s\n", at(row)*scale, rest)
	}
	return text
}

// Inputs that are wrong in a way of their own are refused by name: the file, the line, the column
// or the run, what was found and what is wanted; no deployment is written of them. What is as
// people's spreadsheets write it is read, and a load that says little is noted.
func TestWrongInputsToTheTwin(t *testing.T) {
	const requests = requestColumns
	tables := servedTables(t)
	one, slow := tables[0], tables[1]
	good := rowsAt(1, true, one...)
	replaced := func(old, by string) string { return strings.ReplaceAll(good, old, by) }
	wide := "\xff\xfe"
	for _, u := range utf16.Encode([]rune(good)) {
		wide += string([]byte{byte(u), byte(u >> 8)})
	}
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
	var read []byte // the requests of the right files, which are the same
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
		"a slow server": {"a.csv", times(0.084, 0.6), "", []string{noTwin,
			"no file is written"}},
		"half a file": {"a.json", bench("m", "")[:90], "", []string{"a.json"}},
		"arrivals in milliseconds": {"a.csv", rowsAt(1000, true, one...), "", []string{noTwin,
			"the unit of the arrivals", "follow from 1e+03 times their rate"}},
		"arrivals stretched": {"a.csv", rowsAt(4, true, one...), "", []string{noTwin,
			"follow from 4 times their rate"}},
		"two servers": {"a.csv", rowsAt(1, true, slices.Concat(one, slow)...), "",
			[]string{noTwin, "found requests of two kinds"}},
		"two files, one after the other": {"a.csv", rowsAt(1, false, slices.Concat(one, slow)...),
			"", []string{"a.csv: run a", "begin anew with request 241 of 480"}},
		"a copy": {"a.csv", rowsAt(1, true, slices.Concat(one, one)...), "",
			[]string{"a.csv", "found 240 requests twice"}},
		"UTF-16":  {"a.csv", wide, "", []string{"found text in UTF-16, want UTF-8"}},
		"nothing": {"a.csv", "\n", "", []string{"a.csv: found an empty file"}},
		"other columns": {"a.csv", replaced(requests, "a,b,c,d,e"), "",
			[]string{"found the columns"}},
		"a row cut off": {"a.csv", good[:len(good)-30], "", []string{"a.csv: line 241"}},

		"good":              {"a.csv", good, "", nil},
		"a byte order mark": {"a.csv", "\ufeff" + good, "", nil},
		"lines of Windows":  {"a.csv", replaced("\n", "\r\n"), "", nil},
		"semicolons":        {"a.csv", replaced(",", ";"), "", nil},
		"decimal commas": {"a.csv", strings.ReplaceAll(replaced(",", ";"), ".", ","), "",
			nil},
		"tabs": {"a.csv", replaced(",", "\t"), "", nil},
		"units in names": {"a.csv", replaced(requests, "Arrival (s),Prompt tokens,Output tokens,"+
			"TTFT (s),E2E (s)"), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			testkit.OK(t, os.WriteFile("s.yaml", []byte(wrongScenario), 0o600))
			testkit.OK(t, os.WriteFile(c.file, []byte(c.text), 0o600))
			observe := []string{"twin", "observe", c.file, "--out", "seen"}
			if c.flag != "" {
				observe = append(observe, c.flag)
			}
			code := exitDone
			var stdout, stderr bytes.Buffer
			for i, args := range [][]string{observe, {"twin", "adapt", "seen", "--scenario",
				"s.yaml", "--out", "deployment.yaml"}} {
				if code == exitDone && (i == 0 || c.want != nil || name == "good") {
					code = execute(context.Background(), args, &stdout, &stderr)
				}
			}
			want := exitBadInput
			if slices.Contains(c.want, noTwin) {
				want = exitSLOMissed
			} else if c.want == nil {
				want = exitDone
			}
			if code != want {
				t.Errorf("exit code %d, want %d\n%s%s", code, want, stdout.String(),
					stderr.String())
			}
			for _, words := range c.want {
				if !strings.Contains(stdout.String()+stderr.String(), words) {
					t.Errorf("%q is not in %s%s", words, stdout.String(), stderr.String())
				}
			}
			if _, err := os.Stat("deployment.yaml"); (err == nil) != (name == "good") {
				t.Errorf("the deployment: %v", err)
			}
			if c.want == nil { // read as what it is
				load := testkit.Read(t, filepath.Join("seen", observed.TraceFile))
				if read == nil {
					read = load
				} else if !bytes.Equal(load, read) {
					t.Error("the requests are others than those of the other files")
				}
			}
		})
	}
}
