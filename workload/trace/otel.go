package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/sim"
)

// otel reads spans of OpenTelemetry that describe calls of models: an object for each session. A
// call follows the calls that had ended when it began, without calls that others of them followed.
type otel struct {
	shareGPT
	origin   time.Time
	sessions int64
	calls    []Turn
}

type otelSession struct {
	Spans []otelSpan `json:"spans"`
}

type otelSpan struct {
	ID         string         `json:"span_id"`
	Start      string         `json:"start_time"`
	End        string         `json:"end_time"`
	Attributes otelAttributes `json:"attributes"`

	start, end time.Time
}

// otelAttributes are the attributes of the semantic conventions for generative models. Messages are
// JSON within a string.
type otelAttributes struct {
	Input      string `json:"gen_ai.input.messages"`
	Output     string `json:"gen_ai.output.messages"`
	Text       string `json:"gen_ai.output.text"`
	Prompt     int64  `json:"gen_ai.usage.prompt_tokens"`
	Completion int64  `json:"gen_ai.usage.completion_tokens"`
	In         int64  `json:"gen_ai.usage.input_tokens"`
	Out        int64  `json:"gen_ai.usage.output_tokens"`
}

type otelMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Parts   json.RawMessage `json:"parts"`
}

// otelTokenBytes is about how many bytes of English text make a token, where no numbers of tokens
// were recorded (OpenAI, help.openai.com, "What are tokens and how to count them?": 4 characters).
const otelTokenBytes = 4

func fitsOTel(head []byte) bool {
	return head[0] == '{' && bytes.Contains(head, []byte(`"spans"`))
}

func newOTel(f *file, o Options, c *Counts) (decoder, error) {
	d, err := newShareGPT(f, o, c)
	if err != nil {
		return nil, err
	}
	return &otel{shareGPT: *d.(*shareGPT)}, nil
}

func (t *otel) timed() bool { return true }

// turns implements sessions.
func (t *otel) turns() []Turn { return t.calls[1:] }

func (t *otel) decode(r *sim.Request) error {
	var s otelSession
	if err := t.object(&s); err != nil {
		return err
	}
	spans, seen := s.Spans[:0], map[string]bool{}
	for _, span := range s.Spans {
		if span.ID != "" && seen[span.ID] {
			return t.errorf("span_id: found %.60q twice in a session", span.ID)
		}
		seen[span.ID] = true
		if span.Attributes.Input == "" {
			continue // it is no call of a model
		}
		if err := span.parse(); err != nil {
			return t.errorf("span %d: %w", len(spans), err)
		}
		spans = append(spans, span)
	}
	if len(spans) == 0 || len(spans) >= maxRounds {
		return t.errorf("spans: found %d with gen_ai.input.messages, allowed: 1 to %d", len(spans),
			maxRounds-1)
	}
	slices.SortStableFunc(spans, func(a, b otelSpan) int { return a.start.Compare(b.start) })
	if t.sessions++; t.sessions == 1 {
		t.origin = spans[0].start
	}
	var err error
	if r.Arrival, err = between(t.origin, spans[0].start); err != nil {
		return t.errorf("start_time: %w", err)
	}
	if err := t.link(spans); err != nil {
		return t.errorf("%w", err)
	}
	first := t.calls[0]
	r.Session, r.Prompt, r.Output, r.Answer, r.Content = t.sessions, first.Message, first.Output,
		first.Answer, append(r.Content, first.Prompt...)
	return nil
}

// mostLinks bounds what the calls of a session follow, together.
const mostLinks = 1 << 20

// link makes calls of the spans, which are in the order of their starts.
func (t *otel) link(spans []otelSpan) error {
	byEnd := make([]int, len(spans))
	for i := range byEnd {
		byEnd[i] = i
	}
	slices.SortStableFunc(byEnd, func(a, b int) int { return spans[a].end.Compare(spans[b].end) })
	t.calls = t.calls[:0]
	ended, links := 0, 0
	var latest time.Time // the latest start of the ended spans
	for i := range spans {
		span := &spans[i]
		for ended < len(byEnd) && !spans[byEnd[ended]].end.After(span.start) {
			if at := spans[byEnd[ended]].start; at.After(latest) {
				latest = at
			}
			ended++
		}
		call, err := span.call()
		if err != nil {
			return fmt.Errorf("span %d: %w", i, err)
		}
		since := spans[0].start
		for k := ended - 1; k >= 0 && spans[byEnd[k]].end.After(latest); k-- {
			if call.After = append(call.After, byEnd[k]); len(call.After) == 1 {
				since = spans[byEnd[k]].end
			}
		}
		if links += len(call.After); links > mostLinks {
			return fmt.Errorf("spans: found calls that follow more than %d others", mostLinks)
		}
		slices.Sort(call.After)
		if call.Wait, err = between(since, span.start); err != nil {
			return err
		}
		t.calls = append(t.calls, call)
	}
	return nil
}

func between(from, to time.Time) (sim.Time, error) {
	at := instant{to.Unix(), int64(to.Nanosecond()) * int64(sim.Nanosecond)}
	span, err := at.since(instant{from.Unix(), int64(from.Nanosecond()) * int64(sim.Nanosecond)})
	return max(0, span), err
}

// parse reads the times of the span, which takes a nanosecond at least.
func (s *otelSpan) parse() (err error) {
	if s.start, err = otelTime(s.Start); err == nil {
		s.end, err = otelTime(s.End)
	}
	switch {
	case err != nil:
	case s.end.Before(s.start):
		err = fmt.Errorf("end_time: found %.60q, allowed: from start_time, %.60q, on", s.End,
			s.Start)
	case s.end.Equal(s.start):
		s.end = s.start.Add(1)
	}
	return err
}

// otelTime reads a date and time of day, in UTC where there is no zone.
func otelTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		at, err = time.Parse("2006-01-02T15:04:05.999999999", text)
	}
	if err != nil || at.Year() < 1970 || at.Year() > 2200 {
		return at, fmt.Errorf("time: found %.60q, allowed: such as 2026-02-25T10:00:00.5Z", text)
	}
	return at, nil
}

// call returns the request that the span describes. Each message is a text of its own. If numbers
// of tokens were recorded, the messages have them in proportion to their lengths.
func (s *otelSpan) call() (c Turn, err error) {
	a := &s.Attributes
	input, err := otelMessages("gen_ai.input.messages", a.Input)
	if err != nil {
		return c, err
	}
	prompt, output := cmp.Or(a.Prompt, a.In), cmp.Or(a.Completion, a.Out)
	if prompt < 0 || prompt > maxTokens || output < 0 || output > maxTokens {
		return c, fmt.Errorf("gen_ai.usage: found %d and %d tokens, allowed: 0 to %d", prompt,
			output, maxTokens)
	}
	all, shown := 0, 0
	for _, m := range input {
		all += len(m.Content) + len(m.Parts)
	}
	if prompt == 0 {
		prompt = max(1, int64(all)/otelTokenBytes)
	}
	for _, m := range input {
		shown += len(m.Content) + len(m.Parts)
		tokens := int(int64(shown)*prompt/int64(max(all, 1))) - c.Message
		if tokens > 0 {
			c.Prompt = append(c.Prompt, sim.Segment{ID: m.id(), Tokens: tokens})
			c.Message += tokens
		}
	}
	c.Message = max(c.Message, int(prompt))
	answer := []otelMessage{{Role: "assistant"}}
	answer[0].Content, _ = json.Marshal(a.Text)
	if a.Output != "" {
		if answer, err = otelMessages("gen_ai.output.messages", a.Output); err != nil {
			return c, err
		}
	}
	if len(answer) > 0 {
		c.Answer = answer[0].id()
		output = cmp.Or(output, int64(len(answer[0].Content)+len(answer[0].Parts))/otelTokenBytes)
	}
	c.Output = max(1, int(output))
	return c, nil
}

func otelMessages(field, text string) (list []otelMessage, err error) {
	if err := files.CheckFields([]byte(text)); err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("%s: found no list of messages in the string: %w", field,
			jsonError(err))
	}
	return list, nil
}

// id names the text of a message.
func (m *otelMessage) id() uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\n%s\n%s", m.Role, m.Content, m.Parts)
	return content.ID(content.TraceBlock, h.Sum64()>>4)
}
