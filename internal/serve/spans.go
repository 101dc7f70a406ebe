package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Spans sends a span for each request to an OpenTelemetry collector (OTLP over HTTP, in JSON), with
// the gen_ai attributes that vLLM gives them. Where the collector does not keep up, spans are
// dropped.
type Spans struct {
	url    string
	client http.Client
	queue  chan span
	ended  sync.WaitGroup
}

// Bounds on spans that wait to be sent, and on those sent at once.
const (
	mostSpans  = 4096
	spansBatch = 256
	spansTime  = time.Second
)

// span is one request, in OTLP's JSON form.
type span struct {
	Trace      string      `json:"traceId"`
	ID         string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes"`
}

type attribute struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

// NewSpans returns an exporter to a collector's address, such as http://127.0.0.1:4318. Close sends
// the rest.
func NewSpans(address string) *Spans {
	s := &Spans{
		url:    strings.TrimSuffix(address, "/") + "/v1/traces",
		client: http.Client{Timeout: 5 * time.Second},
		queue:  make(chan span, mostSpans),
	}
	s.ended.Go(s.run)
	return s
}

// Close sends the rest. Nothing may be added after it.
func (s *Spans) Close() {
	close(s.queue)
	s.ended.Wait()
}

// run sends spans in batches.
func (s *Spans) run() {
	ticker := time.NewTicker(spansTime)
	defer ticker.Stop()
	var batch []span
	for {
		select {
		case one, open := <-s.queue:
			if !open {
				s.send(batch)
				return
			}
			if batch = append(batch, one); len(batch) < spansBatch {
				continue
			}
		case <-ticker.C:
		}
		s.send(batch)
		batch = batch[:0]
	}
}

// send posts a batch. A collector that is not there costs the spans, not the service.
func (s *Spans) send(batch []span) {
	if len(batch) == 0 {
		return
	}
	body, err := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{
		"resource": map[string]any{
			"attributes": []attribute{stringAttribute("service.name", "llmsim")}},
		"scopeSpans": []any{map[string]any{"scope": map[string]any{"name": "llmsim.serve"},
			"spans": batch}},
	}}})
	if err != nil {
		return
	}
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, s.url,
		bytes.NewReader(body))
	if err != nil {
		return
	}
	r.Header.Set("Content-Type", "application/json")
	if response, err := s.client.Do(r); err == nil {
		response.Body.Close()
	}
}

// add notes a request that has ended.
func (s *Spans) add(one span) {
	select {
	case s.queue <- one:
	default: // the collector does not keep up
	}
}

// hex reports whether s is n lower-case hexadecimal digits.
func hex(s string, n int) bool { return len(s) == n && strings.Trim(s, "0123456789abcdef") == "" }

func stringAttribute(key, value string) attribute {
	return attribute{key, map[string]any{"stringValue": value}}
}

// count is an attribute that is a whole number, which OTLP's JSON writes as a text.
func count(key string, n int) attribute {
	return attribute{key, map[string]any{"intValue": strconv.Itoa(n)}}
}

func seconds(key string, d time.Duration) attribute {
	return attribute{key, map[string]any{"doubleValue": d.Seconds()}}
}
