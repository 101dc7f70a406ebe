package serve

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/engine/generate"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/testkit"
)

// published writes a small model with GPT-2's own vocabulary.
func published(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	c, err := gpt2.ShapeConfig("124M")
	testkit.OK(t, err)
	c.Layers, c.Width, c.Heads, c.Context = 2, 64, 2, 128
	testkit.OK(t, gpt2.WriteRandom(t.Context(), dir, c, 7))
	return dir
}

// computing opens a service whose answers a model in a folder computes, three at a time.
func computing(t *testing.T, weights string) (*Executor, *instance) {
	t.Helper()
	x, err := OpenExecutor(weights, 3, 1)
	testkit.OK(t, err)
	t.Cleanup(func() { x.Close() })
	config, err := x.Simulation()
	testkit.OK(t, err)
	i := open(t, small, func(o *Options) {
		o.Executor, o.Simulation, o.Models, o.Speed = x, config, []string{"gpt2"}, 1
	})
	t.Cleanup(i.stop)
	return x, i
}

// TestComputedAnswers asks a real model several things at once: each answer is what llmsim gpt2
// generate writes at temperature 0, however the requests are batched.
func TestComputedAnswers(t *testing.T) {
	dir := published(t)
	_, i := computing(t, dir)
	alone, err := generate.Open(generate.Settings{Weights: dir, Threads: 1})
	testkit.OK(t, err)
	defer alone.Close()
	var group errgroup.Group
	for n := range 12 {
		prompt := strings.Repeat(fmt.Sprintf("Once upon a time %d ", n), 1+n%4)
		tokens, err := alone.Encode(prompt)
		testkit.OK(t, err)
		var want bytes.Buffer
		if _, err := alone.Generate(t.Context(), tokens, 5+n, nil, &want); err != nil {
			t.Fatal(err)
		}
		group.Go(func() error {
			body := fmt.Sprintf(`{"prompt":%q,"max_tokens":%d}`, prompt, 5+n)
			got := i.ask(t, "/v1/completions", body)
			if got.Choices[0].Text != want.String() || got.Usage.Prompt != len(tokens) {
				t.Errorf("%q was answered by %q, want %q", prompt, got.Choices[0].Text,
					want.String())
			}
			text := want.String()
			if len(text) < 12 || n%3 > 0 {
				return nil
			}
			stop := text[6:9]
			body = fmt.Sprintf(`{"prompt":%q,"max_tokens":%d,"stop":%q}`, prompt, 5+n, stop)
			if cut := i.ask(t, "/v1/completions",
				body).Choices[0]; cut.Text != text[:strings.Index(text, stop)] ||
				cut.Finish != "stop" || cut.Stop == nil || *cut.Stop != stop {
				t.Errorf("stopped at %q: %+v of %q", stop, cut, text)
			}
			return nil
		})
	}
	testkit.OK(t, group.Wait())
	for _, body := range []string{`{"prompt":[60000]}`, `{"prompt":"` + strings.Repeat("a", 5000) +
		`"}`} {
		if status, text := i.post(t, "/v1/completions", body); status != 400 {
			t.Errorf("%.30s: %d %s", body, status, text)
		}
	}
}

// TestComputedTokensAreNotHeldBack computes a step only when the users of all jobs have got what
// the steps before gave, for otherwise every token would come a step late.
func TestComputedTokensAreNotHeldBack(t *testing.T) {
	x, i := computing(t, published(t))
	steps, deliver := 0, x.before
	x.before = func() {
		deliver()
		for id := range x.started {
			j := x.job(id)
			if j == nil || len(j.generated) == 0 {
				continue
			}
			steps++
			j.listener.mu.Lock()
			if has := j.state.Tokens; has != len(j.generated) {
				t.Errorf("the user of request %d has %d tokens of %d", id, has, len(j.generated))
			}
			j.listener.mu.Unlock()
		}
	}
	var group errgroup.Group
	for n := range 4 {
		group.Go(func() error {
			i.ask(t, "/v1/completions", fmt.Sprintf(`{"prompt":"Once","max_tokens":%d}`, 5+n))
			return nil
		})
	}
	_ = group.Wait()
	if steps < 8 {
		t.Errorf("looked at %d tokens", steps)
	}
}
