package clients

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Each tool's command gives the workload that the tool sends, and a scenario takes it.
func TestCommandsOfTools(t *testing.T) {
	const at = "workload.arrivals="
	for command, want := range map[string][]string{
		"vllm bench serve --model m --num-prompts 200": {at + "at-once", "workload.prompt=1024",
			"workload.output=128", "workload.requests=200", "workload.tokens=random"},
		"vllm bench serve --request-rate=4 --burstiness 4 --input-len 100 --random-range-ratio " +
			"0.5 --seed 7": {"workload.rate=4/s", at + "{process: gamma, cv: 0.5}",
			"workload.prompt={distribution: uniform, min: 50, max: 150}", "seed=7"},
		"python3 benchmarks/benchmark_serving.py --dataset-name random --random-input-len 1000 " +
			"--random-output-len 10 --max_concurrency 16 --random-prefix-len 50": {
			at + "{process: closed-loop, users: 16, start: together}", "workload.prompt=1000",
			"workload.output=10", "workload.prefix={groups: 1, tokens: 50}"},
		"python -m sglang.bench_serving --dataset-name random --random-input 4096 " +
			"--random-output 512 --random-range-ratio 1 --request-rate 2": {"workload.rate=2/s",
			"workload.prompt=4096", "workload.output=512"},
		"benchmark_serving.py --dataset /d/ShareGPT_V3_unfiltered.json": {
			"workload.prompt={distribution: lognormal, mean: 217, cv: 1.2}"},
		"vllm bench serve --dataset-name hf --dataset-path A/ShareGPT_Vicuna": {
			"workload.prompt={distribution: lognormal, mean: 217, cv: 1.2}"},
		"python -m sglang.bench_serving --dataset-name random": {
			"workload.prompt={distribution: uniform, min: 1, max: 1024}"},
		"python -m sglang.bench_serving --dataset-name generated-shared-prefix --gsp-num-groups " +
			"4 --gsp-prompts-per-group 5": {"workload.prefix={groups: 4, tokens: 2048}",
			"workload.requests=20"},
		"guidellm benchmark --target x --rate-type concurrent --rate 8 --data " +
			"'prompt_tokens=512,output_tokens=64'": {
			at + "{process: closed-loop, users: 8, start: together}", "workload.prompt=512",
			"workload.output=64"},
		`guidellm benchmark --rate-type constant --rate 3 --max-seconds 60 --data ` +
			`'{"prompt_tokens": 512, "output_tokens": 64, "output_tokens_stdev": 8}'`: {
			"workload.rate=3/s", at + "constant", "workload.duration=60s",
			"workload.output={distribution: normal, mean: 64, std: 8}"},
		"aiperf profile -m m --concurrency 10 --isl 2000 --isl-stddev 100 --osl 300 " +
			"--request-count 50": {at + "{process: closed-loop, users: 10, start: together}",
			"workload.prompt={distribution: normal, mean: 2000, std: 100}", "workload.output=300",
			"workload.requests=50"},
		"genai-perf profile --request-rate 2 --synthetic-input-tokens-mean 200 " +
			"--output-tokens-mean 20": {"workload.rate=2/s", "workload.prompt=200"},
		"python prepare_dataset.py --stdout --tokenizer m token-norm-dist --input-mean 128 " +
			"--output-mean 64 --input-stdev 0 --output-stdev 0 --num-requests 300 > d.txt\n" +
			"trtllm-bench --model m throughput --dataset d.txt --concurrency 32": {
			at + "{process: closed-loop, users: 32, start: together}", "workload.prompt=128",
			"workload.output=64", "workload.requests=300"},
		"N=12\nvllm bench serve --max-concurrency $N \\\n  --num-prompts 24": {
			at + "{process: closed-loop, users: 12, start: together}", "workload.requests=24"},
	} {
		list, err := Find(command, nil)
		testkit.OK(t, err)
		if len(list) != 1 {
			t.Errorf("%s: found %d loads", command, len(list))
			continue
		}
		got, err := list[0].Settings()
		testkit.OK(t, err)
		for _, one := range want {
			if !slices.Contains(got, one) {
				t.Errorf("%s: %q lacks %q", command, got, one)
			}
		}
		f, err := scenarios.Parse("s", []byte("{model: llama-3.1-8b, hardware: h100-sxm}"), got...)
		testkit.OK(t, err)
		s, err := f.Build(policies.Default())
		testkit.OK(t, err)
		testkit.OK(t, s.Source.Close())
	}
}

// The stages of inference-perf's configuration are loads, wherever it stands in a text.
func TestStagesOfInferencePerf(t *testing.T) {
	const data = "data:\n  type: random\n  input_distribution:\n    mean: 500\n    std: 20\n" +
		"    total_count: 100\n  output_distribution: {mean: 60, min: 1, max: 100}\n"
	list, err := FindPerf("I use this:\n\napi:\n  type: chat\n" + data +
		"load:\n  type: constant\n  stages:\n  - rate: 1\n    duration: 30\n  - rate: 2.5\n" +
		"    duration: 60\n  num_workers: 4\nserver:\n  type: vllm\nand it is slow\n")
	testkit.OK(t, err)
	if len(list) != 2 {
		t.Fatalf("found %d loads, want 2", len(list))
	}
	got, err := list[1].Settings()
	testkit.OK(t, err)
	want := []string{"workload.rate=2.5/s", "workload.arrivals=constant",
		"workload.prompt={distribution: normal, mean: 500, std: 20}", "workload.output=60",
		"workload.duration=60s"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	list, err = FindPerf("load:\n  type: concurrent\n  stages:\n  - num_requests: 40\n" +
		"    concurrency_level: 8\ndata:\n  type: shared_prefix\n  shared_prefix:\n" +
		"    num_groups: 4\n    system_prompt_len: 1000\n    question_len: 50\n    output_len: 9\n")
	testkit.OK(t, err)
	got, err = list[0].Settings()
	testkit.OK(t, err)
	want = []string{"workload.arrivals={process: closed-loop, users: 8, start: together}",
		"workload.prompt=50", "workload.output=9", "workload.requests=40",
		"workload.prefix={groups: 4, tokens: 1000}"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if list, err := FindPerf("no configuration\nload:\n"); len(list) > 0 || err != nil {
		t.Errorf("found %v, %v", list, err)
	}
}

// A list of rates is as many loads, which are those of the single rates.
func TestSweeps(t *testing.T) {
	for _, command := range []string{"guidellm benchmark --rate-type constant --data " +
		"prompt_tokens=10,output_tokens=5 --rate ", "genai-perf profile --osl 5 --request-rate "} {
		all, err := Find(command+"1,2,4", nil)
		testkit.OK(t, err)
		if len(all) != 3 {
			t.Fatalf("%s: %d loads", command, len(all))
		}
		for i, rate := range []string{"1", "2", "4"} {
			one, err := Find(command+rate, nil)
			testkit.OK(t, err)
			want, err := one[0].Settings()
			testkit.OK(t, err)
			got, err := all[i].Settings()
			testkit.OK(t, err)
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
}

// Terms that cannot be are named.
func TestBadLoads(t *testing.T) {
	for words, word := range map[string]string{"concurency=3": "concurrency", "rate=0": "rate",
		"input=many": "input", "vllm bench serve --num-prompts $N": "--var",
		"vllm bench serve --request-rate fast": "fast"} {
		l, err := Parse(words)
		if err == nil {
			_, err = l.Settings()
		}
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: the error is %v, want one with %s", words, err, word)
		}
	}
}
