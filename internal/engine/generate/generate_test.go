package generate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/text"
)

func fixture(name string) string { return filepath.Join("..", "testdata", name) }

func numbers(tokens []int32) string { return strings.Trim(fmt.Sprint(tokens), "[]") }

func run(t *testing.T, s Settings, prompt []int32, n int, stop ...string) (string, Stats) {
	t.Helper()
	session, err := Open(s)
	testkit.OK(t, err)
	defer session.Close()
	var b strings.Builder
	stats, err := session.Generate(context.Background(), prompt, n, stop, &b)
	testkit.OK(t, err)
	return b.String(), stats
}

// TestGreedyText checks that every way of decoding gives the oracle's text.
func TestGreedyText(t *testing.T) {
	p := testkit.LoadOracle(t, fixture("tiny")).Prompts[3]
	base := Settings{Weights: fixture("tiny"), Threads: 1}
	for name, change := range map[string]func(*Settings){
		"plain":    func(*Settings) {},
		"no cache": func(s *Settings) { s.NoCache = true },
		"naive":    func(s *Settings) { s.NaiveAttention = true },
		"draft":    func(s *Settings) { s.Draft = Draft{Weights: fixture("tiny-draft"), Gamma: 3} },
		"layers":   func(s *Settings) { s.Draft = Draft{Layers: []int{1}, Gamma: 3} },
		"look-up":  func(s *Settings) { s.Draft = Draft{NGram: 2, Gamma: 3} },
	} {
		t.Run(name, func(t *testing.T) {
			s := base
			change(&s)
			text, stats := run(t, s, p.IDs, 32)
			if want := numbers(p.Greedy); text != want {
				t.Errorf("text %s, want %s", text, want)
			}
			if stats.Output != 32 || stats.Prompt != len(p.IDs) || stats.TokensPerSecond() <= 0 {
				t.Errorf("stats %+v", stats)
			}
		})
	}
}

// TestStop checks where texts end: at a stop text, at the end of the context.
func TestStop(t *testing.T) {
	p := testkit.LoadOracle(t, fixture("tiny")).Prompts[3]
	s := Settings{Weights: fixture("tiny")}
	stop := " " + numbers(p.Greedy[4:6])
	text, _ := run(t, s, p.IDs, 32, "never", stop)
	if want := numbers(p.Greedy[:4]); text != want {
		t.Errorf("text %q before %q, want %q", text, stop, want)
	}
	if _, stats := run(t, s, p.IDs, 1000); stats.Output+stats.Prompt != 128 {
		t.Errorf("%d tokens in a context of 128", stats.Output+stats.Prompt)
	}
}

func TestSeedDeterminesText(t *testing.T) {
	p := testkit.LoadOracle(t, fixture("tiny")).Prompts[0]
	texts := map[string]int{}
	for _, seed := range []uint64{1, 1, 2, 3} {
		text, _ := run(t, Settings{Weights: fixture("tiny"), Seed: seed, Sampling: SamplingParams{
			Temperature: 1}}, p.IDs, 10)
		texts[text]++
	}
	if len(texts) != 3 {
		t.Errorf("%d texts from seeds 1, 1, 2, 3", len(texts))
	}
}

// TestMeasure checks that the acceptance of many texts at once comes near the oracle's for the
// first token.
func TestMeasure(t *testing.T) {
	p := testkit.LoadOracle(t, fixture("tiny")).Prompts[0]
	const streams, rounds = 50, 40
	session, err := Open(Settings{
		Weights: fixture("tiny"), Streams: streams, Sampling: SamplingParams{Temperature: 1},
		Draft: Draft{Weights: fixture("tiny-draft"), Gamma: 1},
	})
	testkit.OK(t, err)
	defer session.Close()
	for range rounds {
		testkit.OK(t, session.Measure(context.Background(), p.IDs, 1))
	}
	table, ok := session.Table()
	if !ok || table.Steps != streams*rounds {
		t.Fatalf("table %+v", table)
	}
	sigma := math.Sqrt(p.AcceptT1 * (1 - p.AcceptT1) / (streams * rounds))
	if rate := table.Positions[0].Rate; math.Abs(rate-p.AcceptT1) > 5*sigma {
		t.Errorf("acceptance %v, want %v ± %v", rate, p.AcceptT1, sigma)
	}
}

func TestBadSettingsAreErrors(t *testing.T) {
	tiny := fixture("tiny")
	for name, s := range map[string]Settings{
		"no model":    {Weights: t.TempDir()},
		"temperature": {Weights: tiny, Sampling: SamplingParams{Temperature: -1}},
		"two drafts":  {Weights: tiny, Draft: Draft{Weights: tiny, NGram: 2, Gamma: 1}},
		"gamma":       {Weights: tiny, Draft: Draft{NGram: 2}},
		"look-up":     {Weights: tiny, Draft: Draft{NGram: -2}},
		"layer":       {Weights: tiny, Draft: Draft{Layers: []int{2}, Gamma: 1}},
		"no draft":    {Weights: tiny, Draft: Draft{Weights: t.TempDir(), Gamma: 1}},
		"no cache":    {Weights: tiny, NoCache: true, Draft: Draft{NGram: 2, Gamma: 1}},
		"KV heads":    {Weights: tiny, KVHeads: 3},
	} {
		if _, err := Open(s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	session, err := Open(Settings{Weights: tiny})
	testkit.OK(t, err)
	defer session.Close()
	if _, err := session.Encode("text"); err == nil {
		t.Error("no error for text without a vocabulary")
	}
	for _, prompt := range [][]int32{nil, {300}} {
		if _, err := session.Generate(context.Background(), prompt, 1, nil,
			&strings.Builder{}); err == nil {
			t.Errorf("no error for the prompt %v", prompt)
		}
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := session.Generate(cancelled, []int32{1}, 1, nil,
		&strings.Builder{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after cancelling", err)
	}
}

func TestParseTokens(t *testing.T) {
	if got, err := ParseTokens("1, 22 ,0"); err != nil || numbers(got) != "1 22 0" {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"x", "1.5", "99999999999", "1,0x3"} {
		if _, err := ParseTokens(bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// TestOutputIsTheTextUpToTheStop writes any text token by token and compares with cutting it at the
// first stop text. What comes before the end must be whole characters.
func TestOutputIsTheTextUpToTheStop(t *testing.T) {
	words, err := text.ForModel(t.TempDir(), 50257)
	testkit.OK(t, err)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab é日🙂"))).Draw(t, "text")
		stop := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("ab é🙂")), 0, 3, -1), 0,
			2).Draw(t, "stop")
		tokens, err := words.Encode(text)
		testkit.OK(t, err)
		end := len(text)
		for _, s := range stop {
			if i := strings.Index(text, s); i >= 0 && s != "" {
				end = min(end, i)
			}
		}
		var w pieces
		o := newOutput(&w, words, stop)
		stopped := false
		for _, token := range tokens {
			if stopped, err = o.write(token); err != nil {
				t.Fatal(err)
			}
			if stopped {
				break
			}
		}
		if !stopped {
			testkit.OK(t, o.flush())
		}
		if got := strings.Join(w, ""); got != text[:end] || stopped != (end < len(text)) {
			t.Fatalf("wrote %q (stopped: %v), want %q", got, stopped, text[:end])
		}
		for _, piece := range w {
			if strings.ToValidUTF8(piece, "") != piece {
				t.Fatalf("wrote %q, which is not whole characters", piece)
			}
		}
	})
}

// pieces collects what is written, write by write.
type pieces []string

func (p *pieces) Write(b []byte) (int, error) {
	*p = append(*p, string(b))
	return len(b), nil
}
