package generate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/llmsim/llmsim/internal/engine"
	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/testkit"
)

func loadModel(t testing.TB, name string) *gpt2.Model {
	t.Helper()
	m, err := gpt2.Load(fixture(name), gpt2.Options{})
	testkit.OK(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

func newEngine(t testing.TB, m *gpt2.Model, o engine.Options) *engine.Engine {
	t.Helper()
	e, err := engine.New(m, o)
	testkit.OK(t, err)
	t.Cleanup(func() { e.Close() })
	return e
}

// drafters returns each kind of drafter for the target: another model, some of its own layers, and
// look-up.
func drafters(t testing.TB, target *engine.Engine, blocks int, p SamplingParams) []Drafter {
	t.Helper()
	small := newEngine(t, loadModel(t, "tiny-draft"),
		engine.Options{Blocks: blocks, Pool: target.Pool()})
	last, err := target.Model().Keep([]int{1})
	testkit.OK(t, err)
	skipping := newEngine(t, last, engine.Options{Blocks: blocks, Pool: target.Pool()})
	a, err := NewModelDrafter("tiny-draft", small, p)
	testkit.OK(t, err)
	b, err := NewModelDrafter("skip-1", skipping, p)
	testkit.OK(t, err)
	return []Drafter{a, b, NGram{Longest: 3, Shortest: 1}}
}

// TestGreedyTextIsTheTargets decodes all prompts of the oracle in one batch with every drafter,
// algorithm and several lengths of draft: the texts must be the oracle's.
func TestGreedyTextIsTheTargets(t *testing.T) {
	oracle, _ := oracles(t)
	target := newEngine(t, loadModel(t, "tiny"), engine.Options{Blocks: 64, Threads: 2})
	for _, drafter := range drafters(t, target, 64, SamplingParams{}) {
		for _, algorithm := range []Algorithm{Leviathan, Chen} {
			for _, gamma := range []int{1, 4, 7} {
				t.Run(fmt.Sprintf("%s/%v/gamma=%d", drafter.Name(), algorithm, gamma),
					func(t *testing.T) {
						d, err := NewDecoder(target, drafter,
							DecoderOptions{Gamma: gamma, Algorithm: algorithm})
						testkit.OK(t, err)
						var streams []*Stream
						for _, p := range oracle.Prompts {
							s, err := d.Start(p.IDs)
							testkit.OK(t, err)
							streams = append(streams, s)
						}
						added := int64(0)
						for slices.ContainsFunc(streams,
							func(s *Stream) bool { return s.Len() < 128 }) {
							running := slices.DeleteFunc(slices.Clone(streams),
								func(s *Stream) bool { return s.Len() == 128 })
							testkit.OK(t, d.Step(running))
							for _, s := range running {
								added += int64(len(s.New))
							}
						}
						for i, s := range streams {
							p := oracle.Prompts[i]
							if got := s.Tokens()[len(p.IDs):][:len(p.Greedy)]; !slices.Equal(got,
								p.Greedy) {
								t.Errorf("prompt %d continues with %v, want %v", i, got, p.Greedy)
							}
							d.Stop(s)
						}
						if got := d.Table().Tokens; got != added {
							t.Errorf("the table counts %d tokens, the streams got %d", got, added)
						}
						if target.Available() != 64 {
							t.Errorf("%d of 64 blocks available at the end", target.Available())
						}
					})
			}
		}
	}
}

// TestLawEndToEnd decodes two tokens of many streams with the real models. The first token must
// follow the oracle's distribution.
func TestLawEndToEnd(t *testing.T) {
	const streams, rounds = 64, 60
	oracle, _ := oracles(t)
	prompt := oracle.Prompts[0]
	params := SamplingParams{Temperature: 1}
	target := newEngine(t, loadModel(t, "tiny"),
		engine.Options{Blocks: streams, Threads: 1, PrefixCaching: true})
	for _, drafter := range drafters(t, target, streams, params) {
		d, err := NewDecoder(target, drafter,
			DecoderOptions{Gamma: 2, Algorithm: Chen, Sampling: params,
				Seed: 5})
		testkit.OK(t, err)
		counts := make([]int, len(prompt.T1))
		for range rounds {
			batch := make([]*Stream, streams)
			for i := range batch {
				if batch[i], err = d.Start(prompt.IDs); err != nil {
					t.Fatal(err)
				}
			}
			testkit.OK(t, d.Step(batch))
			for _, s := range batch {
				counts[s.New[0]]++
				d.Stop(s)
			}
		}
		chiSquare(t, drafter.Name(), counts, prompt.T1)
	}
}

// TestBatchingDoesNotChangeTexts checks that a sampled text depends on its seed and not on its
// company.
func TestBatchingDoesNotChangeTexts(t *testing.T) {
	oracle, _ := oracles(t)
	params := SamplingParams{Temperature: 0.7, TopK: 20}
	target := newEngine(t, loadModel(t, "tiny"), engine.Options{Blocks: 64})
	drafter := drafters(t, target, 64, params)[0]
	decode := func(together bool) (texts [][]int32) {
		d, err := NewDecoder(target, drafter, DecoderOptions{Gamma: 3, Sampling: params, Seed: 1})
		testkit.OK(t, err)
		var streams []*Stream
		for _, p := range oracle.Prompts[:4] {
			s, err := d.Start(p.IDs)
			testkit.OK(t, err)
			defer d.Stop(s)
			streams = append(streams, s)
		}
		for range 10 {
			if together {
				testkit.OK(t, d.Step(streams))
				continue
			}
			for i := range streams {
				testkit.OK(t, d.Step(streams[i:i+1]))
			}
		}
		for _, s := range streams {
			texts = append(texts, slices.Clone(s.Tokens()))
		}
		return texts
	}
	one, two := decode(true), decode(false)
	for i := range one {
		if !slices.Equal(one[i], two[i]) {
			t.Errorf("text %d is %v in a batch and %v alone", i, one[i], two[i])
		}
	}
}

func TestExhaustedTargetLeavesStreams(t *testing.T) {
	target := newEngine(t, loadModel(t, "tiny"), engine.Options{Blocks: 1})
	d, err := NewDecoder(target, NGram{Longest: 1, Shortest: 1}, DecoderOptions{Gamma: 4})
	testkit.OK(t, err)
	s, err := d.Start(slices.Repeat([]int32{3}, 32))
	testkit.OK(t, err)
	if err := d.Step([]*Stream{s}); !errors.Is(err, engine.ErrKVExhausted) {
		t.Fatalf("error %v, want %v", err, engine.ErrKVExhausted)
	}
	if s.Len() != 32 || s.Cached() != 0 {
		t.Errorf("the stream has %d tokens, %d cached", s.Len(), s.Cached())
	}
}

func TestTable(t *testing.T) {
	d := &Decoder{drafter: NGram{Longest: 2, Shortest: 1}, options: DecoderOptions{Gamma: 2},
		counts: make([]int64, 3), tries: make([]positionCount, 2)}
	d.count(2, 0)
	d.count(2, 2)
	d.count(2, 1)
	d.count(1, 1)
	d.count(0, 0)
	var b bytes.Buffer
	testkit.OK(t, d.Table().Write(&b))
	var got AcceptanceTable
	testkit.OK(t, json.Unmarshal(b.Bytes(), &got))
	if !slices.Equal(got.Accepted, []int64{2, 2, 1}) || got.Steps != 5 || got.Tokens != 9 ||
		got.TokensPerStep != 1.8 {
		t.Errorf("table %+v", got)
	}
	want := []Position{{1, 4, 3, 0.75}, {2, 2, 1, 0.5}}
	if !slices.Equal(got.Positions, want) {
		t.Errorf("positions %+v, want %+v", got.Positions, want)
	}
}

func TestLookUp(t *testing.T) {
	g := NGram{Longest: 2, Shortest: 1}
	for _, c := range []struct {
		tokens []int32
		n      int
		want   []int32
	}{
		{[]int32{1, 2, 3, 4, 1, 2}, 3, []int32{3, 4, 1}},
		{[]int32{1, 2, 3, 1, 2, 4, 1, 2}, 1, []int32{4}}, // the latest of equally long matches
		// the longer match, although it is older
		{[]int32{5, 2, 3, 9, 2, 7, 5, 2}, 2, []int32{3, 9}},
		{[]int32{1, 1}, 5, []int32{1}},
		// an older match where the latest has too little after it
		{[]int32{1, 1, 1, 1, 1}, 2, []int32{1, 1}},
		{[]int32{1, 2, 3}, 3, nil},
		{[]int32{1}, 3, nil},
		{[]int32{1, 1, 1}, 0, nil},
	} {
		if got := g.lookUp(c.tokens, c.n); !slices.Equal(got, c.want) {
			t.Errorf("after %v: %v, want %v", c.tokens, got, c.want)
		}
	}
}
