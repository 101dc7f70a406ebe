package clients

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/testkit"
)

// prometheus scrapes an address every second until the test ends. It returns its own address.
func prometheus(t *testing.T, target string) string {
	t.Helper()
	rules := monitoring(t, "rules.yaml")
	return startPrometheus(t, t.TempDir(), fmt.Sprintf("global: {scrape_interval: 1s, "+
		"evaluation_interval: 1s}\nrule_files: [%q]\n"+
		"scrape_configs: [{job_name: fleet, static_configs: [{targets: [%q]}]}]\n", rules,
		strings.TrimPrefix(target, "http://")))
}

// monitoring returns the absolute path of a file of rules under docs/monitoring, which promtool has
// checked. It skips the test where there is no Prometheus.
func monitoring(t *testing.T, name string) string {
	t.Helper()
	for _, program := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no " + program)
		}
	}
	rules, err := filepath.Abs(filepath.Join("../../docs/monitoring", name))
	if err != nil {
		t.Fatal(err)
	}
	check := testkit.Command(t, "promtool", "check", "rules", rules)
	if out, err := check.CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	return rules
}

// startPrometheus runs a Prometheus over the data in dir until the test ends. It returns its
// address.
func startPrometheus(t *testing.T, dir, config string, flags ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "prometheus.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	cmd := testkit.Command(t, "prometheus", append([]string{"--config.file=" + file,
		"--storage.tsdb.path=" + dir, "--web.listen-address=" + address, "--log.level=error"},
		flags...)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Wait() })
	return "http://" + address
}

// query returns the number of series of an answer, and how many have a value that is a number.
func query(address, expression string) (series, numbers int, err error) {
	response, err := http.Get(address + "/api/v1/query?query=" + url.QueryEscape(expression))
	if err != nil {
		return 0, 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, 0, err
	}
	var answer struct {
		Status string
		Data   struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Status != "success" {
		return 0, 0, fmt.Errorf("%s: %s", expression, text)
	}
	for _, r := range answer.Data.Result {
		if r.Value[1] != "NaN" {
			numbers++
		}
	}
	return len(answer.Data.Result), numbers, nil
}

// dashboard returns the expressions of the dashboard that comes with llmsim.
func dashboard(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/monitoring/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			list = append(list, strings.NewReplacer("$__rate_interval", "10s", "$model_name",
				"llama-3.1-8b").Replace(target.Expr))
		}
	}
	return list
}

// inferencePerf returns the queries that inference-perf makes of a vLLM server (kubernetes-sigs/
// inference-perf, inference_perf/client/modelserver/vllm_client.py). Left out are the three
// families about the life of KV blocks, which vLLM itself exposes on demand only.
func inferencePerf() []string {
	const which = `{model_name='llama-3.1-8b'}[10s]`
	var list []string
	for _, name := range []string{"num_requests_waiting", "num_requests_running",
		"kv_cache_usage_perc"} {
		list = append(list, fmt.Sprintf("avg_over_time(vllm:%s%s)", name, which))
	}
	for _, name := range []string{
		"prompt_tokens", "generation_tokens", "request_success", "num_preemptions",
		"prefix_cache_hits", "prefix_cache_queries",
		"prompt_tokens_cached", "prompt_tokens_recomputed", "external_prefix_cache_hits",
		"external_prefix_cache_queries",
		"mm_cache_hits", "mm_cache_queries", "corrupted_requests",
	} {
		list = append(list, fmt.Sprintf("sum(increase(vllm:%s_total%s))", name, which))
	}
	for _, name := range []string{
		"e2e_request_latency_seconds", "request_time_per_output_token_seconds",
		"time_to_first_token_seconds",
		"inter_token_latency_seconds", "request_queue_time_seconds",
		"request_inference_time_seconds", "request_prefill_time_seconds",
		"request_decode_time_seconds", "request_prompt_tokens", "request_generation_tokens",
		"request_max_num_generation_tokens",
		"request_params_n", "request_params_max_tokens", "iteration_tokens_total",
		"request_prefill_kv_computed_tokens",
	} {
		list = append(list, fmt.Sprintf(
			"histogram_quantile(0.9, sum(rate(vllm:%s_bucket%s)) by (le))", name, which),
			fmt.Sprintf("sum(rate(vllm:%s_sum%s)) / sum(rate(vllm:%[1]s_count%[2]s))", name, which))
	}
	return list
}

// TestPrometheus lets Debian's Prometheus scrape a fleet under load: every query of the dashboard,
// of the recording rules and of inference-perf is answered with a number. The rules are evaluated
// every 15 s, and the first time may come before two scrapes: the load goes on until all queries
// are answered.
func TestPrometheus(t *testing.T) {
	fleet := server(t, "--speed", "20")
	address := prometheus(t, fleet)
	answered := make(chan struct{})
	var users errgroup.Group
	for n := range 8 {
		users.Go(func() error {
			prompt := strings.Repeat("a prompt that is shared ", 20+n)
			body := fmt.Sprintf(`{"prompt":%q,"max_tokens":%d,"ignore_eos":true}`, prompt, 10+n)
			for {
				select {
				case <-answered:
					return nil
				default:
				}
				response, err := http.Post(fleet+"/v1/completions", "application/json",
					strings.NewReader(body))
				if err != nil {
					return err
				}
				io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
		})
	}
	wanted := append(dashboard(t), inferencePerf()...)
	wanted = append(wanted, "model:llm_ttft_seconds:p99_5m", "model:llm_output_tokens:rate_5m",
		"model:llm_kv_cache_usage:max",
		"model:llm_prefix_cache_hits:ratio_5m", "llmsim_lag_seconds")
	for stop := time.Now().Add(2 * time.Minute); len(wanted) > 0 && time.Now().Before(stop); {
		time.Sleep(time.Second)
		left := wanted[:0]
		for _, expression := range wanted {
			if _, numbers, err := query(address, expression); err != nil || numbers == 0 {
				left = append(left, expression)
			}
		}
		wanted = left
	}
	close(answered)
	if err := users.Wait(); err != nil {
		t.Error(err)
	}
	if len(wanted) > 0 {
		t.Errorf("without an answer:\n%s", strings.Join(wanted, "\n"))
	}
}
