package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// Odds are logarithms of the softmax of the logits, and the alternatives are the likeliest tokens.
func TestOdds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logits := rapid.SliceOfN(rapid.Float32Range(-40, 40), 1, 50).Draw(t, "logits")
		chosen := rapid.IntRange(0, len(logits)-1).Draw(t, "chosen")
		alternatives := rapid.IntRange(0, 20).Draw(t, "alternatives")
		wide := make([]float64, len(logits))
		for i, v := range logits {
			wide[i] = float64(v)
		}
		whole := floats.LogSumExp(wide)
		o := logprobsOf(logits, int32(chosen), alternatives,
			func(t int32) string { return fmt.Sprint(t) })
		if math.Abs(o.Logprob-(wide[chosen]-whole)) > 1e-9 {
			t.Errorf("found %v, want %v", o.Logprob, wide[chosen]-whole)
		}
		slices.SortFunc(wide, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
		if len(o.Top) != min(alternatives, len(logits)) {
			t.Fatalf("%d alternatives, want %d", len(o.Top), min(alternatives, len(logits)))
		}
		for i, alternative := range o.Top {
			if math.Abs(alternative.Logprob-(wide[i]-whole)) > 1e-9 {
				t.Errorf("alternative %d has %v, want %v", i, alternative.Logprob, wide[i]-whole)
			}
		}
	})
}

// A real model tells the probabilities of its tokens, in both shapes, streamed or not, and what
// ends by a text at which to stop counts as a stop.
func TestComputedOdds(t *testing.T) {
	_, i := computing(t, published(t))
	type told struct {
		Content []struct {
			Token   string
			Logprob float64
			Top     []struct{ Logprob float64 } `json:"top_logprobs"`
		}
		Tokens []string
		Values []float64            `json:"token_logprobs"`
		Top    []map[string]float64 `json:"top_logprobs"`
	}
	read := func(text string) (all told) {
		for _, line := range strings.Split(text, "\n") {
			var r struct {
				Choices []struct{ Logprobs *told }
			}
			if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &r) != nil ||
				len(r.Choices) == 0 || r.Choices[0].Logprobs == nil {
				continue
			}
			some := r.Choices[0].Logprobs
			all.Content = append(all.Content, some.Content...)
			all.Tokens = append(all.Tokens, some.Tokens...)
			all.Values = append(all.Values, some.Values...)
			all.Top = append(all.Top, some.Top...)
		}
		return all
	}
	for _, stream := range []bool{false, true} {
		_, text := i.post(t, "/v1/chat/completions", fmt.Sprintf(`{"messages":[{"role":"user",
			"content":"Hi"}],"max_tokens":9,"logprobs":true,"top_logprobs":3,"stream":%v}`, stream))
		chat := read(text)
		if len(chat.Content) != 9 {
			t.Fatalf("stream %v: %d tokens have probabilities, want 9: %s", stream,
				len(chat.Content), text)
		}
		for _, o := range chat.Content { // the likeliest is taken
			if len(o.Top) != 3 || o.Logprob > 0 || o.Logprob != o.Top[0].Logprob ||
				o.Top[0].Logprob < o.Top[1].Logprob {
				t.Errorf("stream %v: %+v", stream, o)
			}
		}
		_, text = i.post(t, "/v1/completions", fmt.Sprintf(
			`{"prompt":"Hi","max_tokens":9,"logprobs":2,"stream":%v}`, stream))
		if c := read(text); len(c.Tokens) != 9 || len(c.Values) != 9 || len(c.Top) != 9 {
			t.Errorf("stream %v: %+v of %s", stream, c, text)
		}
	}
	whole := i.ask(t, "/v1/completions", `{"prompt":"Hi","max_tokens":20}`).Choices[0].Text
	stop, err := json.Marshal(whole[len(whole)/2 : len(whole)/2+3])
	testkit.OK(t, err)
	for range 5 {
		if c := i.ask(t, "/v1/completions", fmt.Sprintf(
			`{"prompt":"Hi","max_tokens":100,"stop":%s}`, stop)).Choices[0]; c.Finish != "stop" {
			t.Errorf("finished by %s", c.Finish)
		}
	}
	i.awaitState(t, i.idle)
	text := i.scrape(t)
	if !strings.Contains(text, `finished_reason="stop",model_name="gpt2"} 5`) ||
		!strings.Contains(text, `finished_reason="abort",model_name="gpt2"} 0`) {
		t.Errorf("the metrics say otherwise:\n%s", text)
	}
}
