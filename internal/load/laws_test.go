package load

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/text"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/sim"
)

// Of a stream each event with a piece of the answer is a token, of text, of reasoning or of a call;
// numbers of tokens are what the server says, and where it says none, what was asked and came. The
// text is kept where a later turn repeats it.
func TestAnswersAreRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream, said strings.Builder
		pieces := 0
		for range rapid.IntRange(0, 6).Draw(t, "events") {
			event, piece, text := "", 1, ""
			switch rapid.IntRange(0, 6).Draw(t, "kind") {
			case 0:
				event, text = `{"choices":[{"text":"a"}]}`, "a"
			case 1:
				event, text = `{"choices":[{"delta":{"content":"b"}}]}`, "b"
			case 2:
				event = `{"choices":[{"delta":{"reasoning_content":"c"}}]}`
			case 3:
				event = `{"choices":[{"delta":{"tool_calls":[{}]}}]}`
			case 4:
				event, piece = `{"choices":[{"delta":{"role":"assistant"}}]}`, 0
			case 5:
				event, text = `{"choices":[{"text":""},{"text":"d"}]}`, "d"
			case 6:
				fmt.Fprint(&stream, ": a comment\n\n")
				continue
			}
			fmt.Fprintf(&stream, "data: %s\n\n", event)
			pieces += piece
			said.WriteString(text)
		}
		usage := rapid.Bool().Draw(t, "usage")
		if usage {
			fmt.Fprint(&stream, `data: {"usage":{"prompt_tokens":70,"completion_tokens":90,`+
				`"prompt_tokens_details":{"cached_tokens":30}}}`+"\n\n")
		}
		fails := rapid.SampledFrom([]string{"", "", `data: {"error":{"message":"broken"}}`,
			"data: {"}).Draw(t, "fails")
		fmt.Fprintf(&stream, "%s\n\ndata: [DONE]\n\ndata: {\n\n", fails)
		begun := 0
		a := &answer{request: sim.Request{Prompt: 7, Answer: rapid.Uint64Range(0, 1).Draw(t,
			"kept")},
			begun: func() { begun++ }}
		err := a.read(strings.NewReader(stream.String()))
		if (err == nil) != (fails == "" && pieces > 0) {
			t.Fatalf("%s: %v", stream.String(), err)
		}
		if a.request.Answered != pieces || len(a.gaps) != max(0, pieces-1) || begun != min(pieces,
			1) ||
			a.first.IsZero() != (pieces == 0) || a.last.Before(a.first) {
			t.Errorf("%d tokens are read as %+v", pieces, a)
		}
		total := a.last.Sub(a.first)
		for _, gap := range a.gaps {
			total -= gap
		}
		kept := ""
		if a.request.Answer > 0 {
			kept = said.String()
		}
		if total != 0 || string(a.text) != kept {
			t.Errorf("%v beside the gaps; the text %q, want %q", total, a.text, kept)
		}
		want := [3]int{7, pieces, 0}
		if usage {
			want = [3]int{70, 90, 30}
		}
		if got := [3]int{a.prompt, a.output, a.cached}; err == nil && got != want {
			t.Errorf("the server counted %v, want %v", got, want)
		}
	})
}

// What a server answers in place of a stream fails the request, for the reason that the simulator
// has for it, with the server's words.
func TestRefusals(t *testing.T) {
	for status, want := range map[int]sim.Rejection{429: sim.Refused, 503: sim.Unavailable,
		400: sim.Lost, 500: sim.Lost} {
		for body, words := range map[string]string{`{"error":{"message":"a reason"}}`: ": a reason",
			`{"message":"another"}`: ": another", "{}": "", "plain": ""} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
				r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer key" {
					t.Errorf("the key is %q", r.Header.Get("Authorization"))
				}
				w.WriteHeader(status)
				fmt.Fprint(w, body)
			}))
			c := newClient(&Config{URL: server.URL + "/v1/", APIKey: "key"}, nil)
			a := &answer{}
			c.ask(t.Context(), a, nil)
			if text := fmt.Sprintf("%d %s%s", status, http.StatusText(status),
				words); a.err == nil ||
				a.err.Error() != text || a.why != want {
				t.Errorf("%d %s: %v, %v, want %q, %v", status, body, a.err, a.why, text, want)
			}
			if _, err := c.models(t.Context()); err == nil {
				t.Errorf("status %d lists models", status)
			}
			server.Close()
			a = &answer{}
			if c.ask(t.Context(), a, nil); a.err == nil || a.why != sim.Lost {
				t.Errorf("no server: %v, %v", a.err, a.why)
			}
			a = &answer{}
			c.base = "http://\x00"
			if c.ask(t.Context(), a, nil); a.err == nil || a.why != sim.Lost {
				t.Errorf("no address: %v, %v", a.err, a.why)
			}
		}
	}
}

// The first model that a server lists is asked for, unless one is named; an address may end with
// the version of the API.
func TestModelsAreFound(t *testing.T) {
	list := `{"data":[{"id":"first"},{"id":"second"}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, list)
		}
	}))
	defer server.Close()
	for _, end := range []string{"", "/", "/v1", "/v1/"} {
		c := newClient(&Config{URL: server.URL + end}, nil)
		names, err := c.models(t.Context())
		if err != nil || !slices.Equal(names, []string{"first", "second"}) {
			t.Errorf("%q: %q, %v", end, names, err)
		}
		if err := c.findModel(t.Context()); err != nil || c.model != "first" {
			t.Errorf("%q: %q, %v", end, c.model, err)
		}
	}
	list = `{"data":[]}`
	c := newClient(&Config{URL: server.URL}, nil)
	if err := c.findModel(t.Context()); err == nil {
		t.Error("an empty list has a model")
	}
	c.model = "named"
	if err := c.findModel(t.Context()); err != nil || c.model != "named" {
		t.Error(c.model, err)
	}
}

// The tally has the mean and the largest delay of what was sent, and each error with its number, of
// twenty kinds at most and the others together.
func TestTally(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tally := newTally()
		var late, most time.Duration
		sent, failed := int64(0), int64(0)
		for i := range rapid.IntRange(0, 60).Draw(t, "answers") {
			a := &answer{late: time.Duration(rapid.IntRange(0, 99).Draw(t, "late"))}
			if rapid.Bool().Draw(t, "sent") {
				a.sent = time.Unix(int64(i), 0)
				sent++
				late, most = late+a.late, max(most, a.late)
			}
			if kind := rapid.IntRange(0, 30).Draw(t, "error"); kind > 0 {
				a.err = errors.New(fmt.Sprint(kind))
				failed++
			}
			tally.add(a)
		}
		sum := int64(0)
		for _, n := range tally.errors {
			sum += n
		}
		kinds := len(tally.errors)
		if _, others := tally.errors["others"]; others {
			if kinds--; kinds != 20 {
				t.Errorf("%d kinds and others", kinds)
			}
		}
		if tally.sent != sent || tally.late != late || tally.max != most || sum != failed ||
			kinds > 20 {
			t.Errorf("%+v; want %d sent, late by %v, %v at most, %d errors", tally, sent, late,
				most, failed)
		}
	})
}

// Answers that are repeated are what was said, as far as it goes, and made up beyond; of too many
// the oldest are made up.
func TestAnswersAreRepeated(t *testing.T) {
	words, err := text.NewVocabulary()
	testkit.OK(t, err)
	rapid.Check(t, func(t *rapid.T) {
		s := newSpoken(words)
		said := map[uint64][]text.Token{}
		for range rapid.IntRange(0, 5).Draw(t, "answers") {
			id := rapid.Uint64Range(1, 3).Draw(t, "id")
			tokens := []text.Token{words.Word(id, rapid.IntRange(0, 99).Draw(t, "word")),
				words.Word(7, 7)}
			spoken, err := words.Decode(tokens)
			testkit.OK(t, err)
			if s.add(id, spoken); said[id] == nil {
				said[id], err = words.Encode(spoken)
				testkit.OK(t, err)
			}
		}
		total := 0
		for id := range uint64(4) {
			n := rapid.IntRange(0, 5).Draw(t, "tokens")
			got := s.appendTo(nil, sim.Segment{ID: id, Tokens: n})
			known := min(n, len(said[id]))
			if len(got) != n || !slices.Equal(got[:known], said[id][:known]) {
				t.Errorf("%d tokens of %d are %v, want %v", n, id, got, said[id])
			}
			for i := known; i < n; i++ {
				if got[i] != words.Word(id, i) {
					t.Errorf("token %d of %d is %v", i, id, got[i])
				}
			}
			total += len(said[id])
		}
		if s.tokens != total || len(s.order) != len(s.answers) {
			t.Errorf("%d tokens of %d answers are kept, want %d", s.tokens, len(s.order), total)
		}
		s.tokens = mostAnswerTokens // as if there were many before
		spoken, err := words.Decode([]text.Token{words.Word(9, 9)})
		testkit.OK(t, err)
		if first := slices.Clone(s.order); len(first) > 0 {
			s.add(100, spoken)
			if s.answers[first[0]] != nil || s.answers[100] == nil || s.tokens > mostAnswerTokens {
				t.Errorf("of %v are left %v", first, s.order)
			}
		}
	})
}

// The text has each latency in its row, by its mean and its percentiles, what ended how, and the
// most frequent errors first.
func TestTextOfALoad(t *testing.T) {
	r := &Result{Model: "m", URL: "u", MeanSendDelay: 2, MaxSendDelay: 8,
		Errors: map[string]int64{"rare": 1, "b": 5, "a": 5},
		Service: metrics.Service{Duration: 90, RequestThroughput: 3, OutputThroughput: 70,
			TotalTokenThroughput: 500, Limits: []metrics.LimitResult{{Latency: "itl",
				Percentile: 99, Measured: 30, Limit: 40}, {Latency: "ttft", Joint: true}}}}
	r.Completed, r.Lost, r.Attainment.All, r.Attainment.Target = 11, 4, 0.25, 0.99
	rows := []string{"time to first token", "time per output token", "gap between tokens",
		"whole request"}
	for i, values := range [][]*float64{{&r.MeanTTFT, &r.MedianTTFT, &r.P90TTFT, &r.P99TTFT},
		{&r.MeanTPOT, &r.MedianTPOT, &r.P90TPOT, &r.P99TPOT},
		{&r.MeanITL, &r.MedianITL, &r.P90ITL, &r.P99ITL},
		{&r.MeanE2EL, &r.MedianE2EL, &r.P90E2EL, &r.P99E2EL}} {
		row := fmt.Sprintf("%-24s", rows[i])
		for k, v := range values {
			*v = float64(100*i + 10*k + 1)
			row += fmt.Sprintf("%12s", units.FormatDuration(*v/1000))
		}
		rows[i] = row + "\n"
	}
	var b strings.Builder
	testkit.OK(t, r.WriteText(&b))
	for _, words := range append(rows, "m at u\n",
		"11 completed, 4 without an answer, in 1.5 min\n",
		"3 requests/s, 70 output tokens/s, 500 tokens/s in all\n",
		"kept by 25 % of the requests, 99 % wanted\n             p99 ITL is 30 ms, 40 ms wanted\n",
		"by 2 ms on average, 8 ms at most\n",
		"error        5 × a\nerror        5 × b\nerror        1 × rare\n") {
		if !strings.Contains(b.String(), words) {
			t.Errorf("%q is not in\n%s", words, b.String())
		}
	}
	if strings.Contains(b.String(), "cut by their users") || strings.Contains(b.String(),
		" TTFT is ") {
		t.Errorf("nobody left:\n%s", b.String())
	}
}

// A conversation has all tokens of the prompt in its messages, whatever their segments: what the
// server answered is the assistant's, and the rest the user's.
func TestMessagesHaveThePrompt(t *testing.T) {
	words, err := text.NewVocabulary()
	testkit.OK(t, err)
	rapid.Check(t, func(t *rapid.T) {
		c := newClient(&Config{}, words)
		answer, err := words.Decode([]text.Token{words.Word(2, 0), words.Word(2, 1), words.Word(2,
			2)})
		testkit.OK(t, err)
		c.answers.add(2, answer)
		r := &sim.Request{ID: 5, Prompt: rapid.IntRange(1, 12).Draw(t, "prompt")}
		left, answered := r.Prompt, false
		for range rapid.IntRange(0, 4).Draw(t, "segments") {
			s := sim.Segment{ID: rapid.Uint64Range(1, 3).Draw(t, "id"),
				Tokens: rapid.IntRange(1, 5).Draw(t, "tokens")}
			answered = answered || s.ID == 2 && left > 0
			left -= s.Tokens
			r.Content = append(r.Content, s)
		}
		tokens := c.prompt(r)
		var all strings.Builder
		said := false
		for i, m := range c.messages(r) {
			all.WriteString(m.Content)
			said = said || m.Role == "assistant"
			if m.Content == "" || m.Role != "user" && m.Role != "assistant" {
				t.Errorf("message %d is %+v", i, m)
			}
		}
		if want := c.spell(tokens); len(tokens) != r.Prompt || all.String() != want ||
			said != answered {
			t.Errorf("%d tokens of %d: %q, want %q; the assistant speaks: %v", len(tokens),
				r.Prompt,
				all.String(), want, said)
		}
	})
}
