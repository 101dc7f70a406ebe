package serve

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
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
