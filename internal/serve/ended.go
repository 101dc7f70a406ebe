package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// log writes a line about a call.
func (s *Server) log(r *http.Request, c *call, err error) {
	if s.Log == nil {
		return
	}
	attributes := []slog.Attr{
		slog.String("id", c.head.ID), slog.String("path", r.URL.Path), slog.Int("status", c.status),
		slog.String("model", c.head.Model),
		slog.Float64("e2e_ms", time.Since(c.began).Seconds()*1000),
	}
	if c.planned() {
		u := c.usage()
		attributes = append(attributes, slog.Bool("stream", c.request.Stream),
			slog.Int("prompt_tokens", u.Prompt),
			slog.Int("cached_tokens", u.Cached), slog.Int("completion_tokens", u.Completion))
	}
	if !c.first.IsZero() {
		attributes = append(attributes,
			slog.Float64("ttft_ms", c.first.Sub(c.began).Seconds()*1000))
	}
	level := slog.LevelInfo
	if err != nil {
		level = slog.LevelWarn
		attributes = append(attributes, slog.String("error", err.Error()))
	}
	s.Log.LogAttrs(r.Context(), level, "request", attributes...)
}

// planned reports whether the call was understood.
func (c *call) planned() bool { return c.request != nil && len(c.plans) > 0 }

// span describes a call that has ended. Parent is its traceparent header (W3C Trace Context), if
// any.
func (c *call) span(parent string) span {
	u, now := c.usage(), time.Now()
	one := span{
		Trace: fmt.Sprintf("%016x%016x", rand.Uint64(), rand.Uint64()), ID: fmt.Sprintf("%016x",
			rand.Uint64()),
		Name: "llm_request", Kind: 2, // a server's
		Start: strconv.FormatInt(c.began.UnixNano(), 10), End: strconv.FormatInt(now.UnixNano(),
			10),
		Attributes: []attribute{
			stringAttribute("gen_ai.request.id", c.head.ID),
			stringAttribute("gen_ai.response.model", c.head.Model),
			count("gen_ai.request.max_tokens", c.request.MaxTokens), count("gen_ai.request.n",
				c.request.N),
			count("gen_ai.usage.prompt_tokens", u.Prompt), count("gen_ai.usage.completion_tokens",
				u.Completion),
			seconds("gen_ai.latency.e2e", now.Sub(c.began)),
		},
	}
	if part := strings.Split(parent, "-"); len(part) == 4 && hex(part[1], 32) && hex(part[2], 16) {
		one.Trace, one.Parent = part[1], part[2]
	}
	if !c.first.IsZero() {
		one.Attributes = append(one.Attributes, seconds("gen_ai.latency.time_to_first_token",
			c.first.Sub(c.began)))
	}
	return one
}

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
