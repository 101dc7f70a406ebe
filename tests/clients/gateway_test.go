package clients

import (
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/backend"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/backend/metrics"
)

// TestGatewayScrapes lets the metric client of the gateway-api inference extension, by which its
// endpoint picker chooses replicas, read one replica while it computes. The names of the families
// are the defaults of that picker (pkg/epp/server/options.go, v1.3.0).
func TestGatewayScrapes(t *testing.T) {
	address := server(t)
	mapping, err := metrics.NewMetricMapping(
		"vllm:num_requests_waiting", "vllm:num_requests_running", "vllm:kv_cache_usage_perc",
		"vllm:lora_requests_info", "vllm:cache_config_info",
	)
	if err != nil {
		t.Fatal(err)
	}
	scraper := metrics.PodMetricsClientImpl{
		MetricMapping: mapping, ModelServerMetricsPath: "/metrics",
		ModelServerMetricsScheme: "http", Client: http.DefaultClient,
	}
	pod := &backend.Pod{MetricsHost: strings.TrimPrefix(address, "http://")}
	scrape := func() *metrics.MetricsState {
		state, err := scraper.FetchMetrics(t.Context(), pod, metrics.NewMetricsState())
		if err != nil {
			t.Fatal(err)
		}
		return state
	}

	client := openai.NewClient(option.WithBaseURL(address+"/v1"), option.WithAPIKey("none"))
	stream := client.Completions.NewStreaming(t.Context(), openai.CompletionNewParams{
		Model: "llama-3.1-8b", MaxTokens: openai.Int(4000),
		Prompt: openai.CompletionNewParamsPromptUnion{
			OfString: openai.String(strings.Repeat("word ", 1000))},
	}, option.WithJSONSet("ignore_eos", true))
	if !stream.Next() {
		t.Fatal(stream.Err())
	}
	busy := scrape()
	for busy.RunningRequestsSize == 0 && stream.Next() {
		busy = scrape() // gauges follow within a sample
	}
	if busy.RunningRequestsSize != 1 || busy.WaitingQueueSize != 0 ||
		busy.KVCacheUsagePercent <= 0 || busy.KVCacheUsagePercent > 1 {
		t.Errorf("while a request runs: %+v", busy)
	}
	if busy.CacheBlockSize != 16 || busy.CacheNumGPUBlocks < 1000 {
		t.Errorf("the cache has %d blocks of %d tokens", busy.CacheNumGPUBlocks,
			busy.CacheBlockSize)
	}
	if err := stream.Close(); err != nil {
		t.Fatal(err)
	}
	idle := scrape()
	for idle.RunningRequestsSize > 0 {
		idle = scrape()
	}
	if idle.WaitingQueueSize != 0 {
		t.Errorf("after the request: %+v", idle)
	}
}
