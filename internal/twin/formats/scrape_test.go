package formats_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/twin/formats"
	"github.com/llmsim/llmsim/internal/twin/observed"
)

// metricsPage returns the metrics of a server after n scrapes: 10 requests in each interval, with a
// TTFT of 50 ms, 20 gaps of 10 ms and prompts of 300 tokens.
func metricsPage(n int) string {
	requests := 10 * n
	return fmt.Sprintf(`# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{le="+Inf"} %[1]d
vllm:time_to_first_token_seconds_sum %[2]g
vllm:time_to_first_token_seconds_count %[1]d
# TYPE vllm:inter_token_latency_seconds histogram
vllm:inter_token_latency_seconds_bucket{le="+Inf"} %[3]d
vllm:inter_token_latency_seconds_sum %[4]g
vllm:inter_token_latency_seconds_count %[3]d
# TYPE vllm:prompt_tokens_total counter
vllm:prompt_tokens_total %[5]d
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total %[6]d
`, requests, 0.05*float64(requests), 20*requests, 0.2*float64(requests), 300*requests,
		21*requests)
}

// check checks the intervals that metricsPage has.
func check(t *testing.T, o *observed.Observed, n int, seconds float64) {
	t.Helper()
	if len(o.Runs) != 1 || len(o.Runs[0].Intervals) != n {
		t.Fatalf("found %+v, want one run with %d intervals", o.Runs, n)
	}
	for _, v := range o.Runs[0].Intervals {
		for _, pair := range [][2]float64{{v.Requests, 10}, {v.TTFT, 0.05}, {v.TPOT, 0.01},
			{v.PromptTokens, 3000}, {v.OutputTokens, 210}} {
			if math.Abs(pair[0]/pair[1]-1) > 1e-9 {
				t.Errorf("the interval is %+v, want %g", v, pair[1])
			}
		}
		if seconds > 0 && v.Seconds != seconds {
			t.Errorf("the interval has %g s, want %g", v.Seconds, seconds)
		}
	}
}

// A page that is read at each tick gives the means of each interval.
func TestServerIsReadOverTime(t *testing.T) {
	var scrapes atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/metrics" {
				http.NotFound(w, r)
				return
			}
			fmt.Fprint(w, metricsPage(int(scrapes.Add(1))))
		}))
	defer server.Close()
	c := formats.Scrape{Address: server.URL, For: 60 * time.Millisecond,
		Every: 20 * time.Millisecond}
	o, err := c.Run(context.Background())
	testkit.OK(t, err)
	check(t, o, 3, 0)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Run(ctx); err == nil {
		t.Error("a run that was cancelled is no error")
	}
}

// TestPrometheusIsAsked is asked for the series of a selector, and its answer read.
func TestPrometheusIsAsked(t *testing.T) {
	var asked url.Values
	server := httptest.NewServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			asked = r.URL.Query()
			series := []string{}
			for name, step := range map[string]float64{"time_to_first_token_seconds_sum": 0.5,
				"time_to_first_token_seconds_count": 10, "inter_token_latency_seconds_sum": 2,
				"inter_token_latency_seconds_count": 200, "prompt_tokens_total": 3000,
				"generation_tokens_total": 210} {
				series = append(series, fmt.Sprintf(`{"metric":{"__name__":"vllm:%s"},"values":`+
					`[[1785585600,"%g"],[1785585660,"%g"],[1785585720,"%g"]]}`, name, step,
					2*step, 3*step))
			}
			fmt.Fprintf(w, `{"status":"success","data":{"resultType":"matrix","result":[%s]}}`,
				strings.Join(series, ","))
		}))
	defer server.Close()
	c := formats.Scrape{Address: server.URL, Prometheus: true, Selector: `{job="chat"}`,
		For: 10 * time.Minute, Every: time.Minute}
	o, err := c.Run(context.Background())
	testkit.OK(t, err)
	check(t, o, 2, 60)
	if query := asked.Get("query"); !strings.HasSuffix(query, `,job="chat"}`) ||
		asked.Get("step") != "60" {
		t.Errorf("Prometheus was asked %v", asked)
	}
}

// What is no address, no time or no page of metrics is refused with a reason.
func TestBadServers(t *testing.T) {
	refuses := httptest.NewServer(http.NotFoundHandler())
	defer refuses.Close()
	other := httptest.NewServer(http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "other_metric 1\n") }))
	defer other.Close()
	for _, bad := range []struct {
		address  string
		span     time.Duration
		contains string
	}{
		{"server:8000", time.Minute, "allowed: http://host:port"},
		{"file:///etc/passwd", time.Minute, "allowed: http://host:port"},
		{"http://127.0.0.1:1", 0, "allowed: 1 to"},
		{refuses.URL, time.Millisecond, "404"},
		{other.URL, time.Millisecond, "no metrics of vLLM"},
	} {
		c := formats.Scrape{Address: bad.address, For: bad.span, Every: time.Millisecond}
		_, err := c.Run(context.Background())
		if err == nil || !strings.Contains(err.Error(), bad.contains) {
			t.Errorf("%s: the error is %v, want one with %q", bad.address, err, bad.contains)
		}
	}
}
