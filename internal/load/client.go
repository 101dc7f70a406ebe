package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/llmsim/llmsim/internal/text"
	"github.com/llmsim/llmsim/sim"
)

// What a server may send before it counts as broken.
const (
	maxLine  = 1 << 20 // an event of a stream, in bytes
	maxError = 4 << 10 // as much of an error as is read, in bytes
	maxList  = 1 << 20 // the list of models, in bytes
)

var (
	errTimeout   = errors.New("took longer than the timeout")
	errImpatient = errors.New("the user went away")
)

// client speaks to one server.
type client struct {
	base, path, key, model string
	chat                   bool
	words                  *text.Vocabulary
	answers                *answerCache
	http                   http.Client
}

func newClient(c *Config, words *text.Vocabulary) *client {
	path := "/v1/completions"
	if c.Chat {
		path = "/v1/chat/completions"
	}
	base := strings.TrimSuffix(strings.TrimSuffix(c.URL, "/"), "/v1")
	// A connection for each request under way, kept for the next.
	transport := &http.Transport{MaxIdleConnsPerHost: 1 << 16, DisableCompression: true}
	return &client{
		base: base, path: path, key: c.APIKey, model: c.Model, chat: c.Chat, words: words,
		answers: newSpoken(words),
		http:    http.Client{Transport: transport},
	}
}

func (c *client) close() { c.http.CloseIdleConnections() }

func (c *client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request,
	error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	return r, nil
}

// findModel asks the server for its first model where no model is named.
func (c *client) findModel(ctx context.Context) error {
	if c.model != "" {
		return nil
	}
	names, err := c.models(ctx)
	if err != nil {
		return err
	}
	c.model = names[0]
	return nil
}

// models returns the names that the server lists, at least one.
func (c *client) models(ctx context.Context) ([]string, error) {
	r, err := c.request(ctx, http.MethodGet, "/v1/models", nil)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s/v1/models: %w", c.base, statusError(response))
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	err = json.NewDecoder(io.LimitReader(response.Body, maxList)).Decode(&list)
	if err != nil || len(list.Data) == 0 {
		return nil, fmt.Errorf("%s/v1/models lists no model; name one (%w)", c.base, err)
	}
	var names []string
	for _, m := range list.Data {
		names = append(names, m.ID)
	}
	return names, nil
}

// ask sends a request and fills in the answer.
func (c *client) ask(ctx context.Context, a *answer, body []byte) {
	r, err := c.request(ctx, http.MethodPost, c.path, bytes.NewReader(body))
	if err != nil {
		a.fail(err, sim.Lost)
		return
	}
	response, err := c.http.Do(r)
	if err != nil {
		a.fail(err, sim.Lost)
		return
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusTooManyRequests:
		a.fail(statusError(response), sim.Refused)
	case response.StatusCode == http.StatusServiceUnavailable:
		a.fail(statusError(response), sim.Unavailable)
	case response.StatusCode != http.StatusOK:
		a.fail(statusError(response), sim.Lost)
	default:
		if err := a.read(response.Body); err != nil {
			a.fail(err, sim.Lost)
		}
	}
}

// statusError says what a server answered in place of a stream.
func statusError(response *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxError))
	var body struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
		Message string `json:"message"`
	}
	if json.Unmarshal(text, &body) == nil && body.Error.Message+body.Message != "" {
		return fmt.Errorf("%s: %s", response.Status, body.Error.Message+body.Message)
	}
	return errors.New(response.Status)
}

// answer is the server's answer to a request, with its times.
type answer struct {
	request sim.Request
	// late is the delay of sending after the request's scheduled time.
	late time.Duration
	// Moments of sending, of the first and the last token, and of the end.
	sent, first, last, end time.Time
	gaps                   []time.Duration
	// begun, if any, is called when the first token comes.
	begun func()
	// text is the answer, if a later turn repeats it.
	text []byte
	// What the server says that it counted.
	prompt, output, cached int
	// err is why there is no answer, and why is the nearest reason of the simulator's.
	err error
	why sim.Rejection
}

func (a *answer) fail(err error, why sim.Rejection) { a.err, a.why = err, why }

// event has the fields read from a chunk of a stream, of completions or of chat.
type event struct {
	Choices []struct {
		Text  string `json:"text"`
		Delta struct {
			Content   string            `json:"content"`
			Reasoning string            `json:"reasoning_content"`
			ToolCalls []json.RawMessage `json:"tool_calls"`
		} `json:"delta"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Details    *struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// tokens reports whether the event brings a piece of the answer.
func (e *event) tokens() bool {
	for i := range e.Choices {
		c := &e.Choices[i]
		if c.Text != "" || c.Delta.Content != "" || c.Delta.Reasoning != "" ||
			len(c.Delta.ToolCalls) > 0 {
			return true
		}
	}
	return false
}

// appendText appends the text of the event.
func (e *event) appendText(b []byte) []byte {
	for i := range e.Choices {
		b = append(append(b, e.Choices[i].Text...), e.Choices[i].Delta.Content...)
	}
	return b
}

// read takes the events of a stream until its end. An event counts as one token for the gaps, as in
// vLLM's benchmark; numbers of tokens are the server's own.
func (a *answer) read(stream io.Reader) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok {
			continue
		}
		now := time.Now()
		data = bytes.TrimSpace(data)
		if string(data) == "[DONE]" {
			break
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("an event is not JSON: %w", err)
		}
		if e.Error != nil {
			return errors.New(e.Error.Message)
		}
		if e.tokens() {
			if a.request.Answer != 0 {
				a.text = e.appendText(a.text)
			}
			a.token(now)
		}
		if u := e.Usage; u != nil {
			a.prompt, a.output = u.Prompt, u.Completion
			if u.Details != nil {
				a.cached = u.Details.Cached
			}
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if a.request.Answered == 0 {
		return errors.New("the answer has no tokens")
	}
	if a.output == 0 {
		a.prompt, a.output = a.request.Prompt, a.request.Answered
	}
	return nil
}

// token notes that a piece of the answer came.
func (a *answer) token(now time.Time) {
	if a.first.IsZero() {
		a.first = now
		if a.begun != nil {
			a.begun()
		}
	} else {
		a.gaps = append(a.gaps, now.Sub(a.last))
	}
	a.last = now
	a.request.Answered++
}
