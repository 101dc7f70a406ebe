package serve

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// TestSpans has a collector that notes what it gets: a span with the tokens of the request, within
// the trace of the client.
func TestSpans(t *testing.T) {
	got := make(chan string, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- r.URL.Path + string(body)
	}))
	defer collector.Close()
	spans := NewSpans(collector.URL)
	i := open(t, small, func(o *Options) { o.Spans = spans })
	r, err := http.NewRequest(http.MethodPost, i.URL+"/v1/completions",
		strings.NewReader(`{"prompt":"x","max_tokens":6,"ignore_eos":true}`))
	testkit.OK(t, err)
	r.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	response, err := http.DefaultClient.Do(r)
	testkit.OK(t, err)
	io.Copy(io.Discard, response.Body)
	response.Body.Close()
	i.Server.Close() // the handler has returned, and noted its span
	spans.Close()
	text := <-got
	for _, want := range []string{
		"/v1/traces", `"traceId":"0af7651916cd43dd8448eb211c80319c"`,
		`"parentSpanId":"b7ad6b7169203331"`,
		`{"key":"gen_ai.usage.completion_tokens","value":{"intValue":"6"}}`,
		`"gen_ai.latency.time_to_first_token"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in %s", want, text)
		}
	}
}
