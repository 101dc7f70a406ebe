package reuse_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/workload/reuse"
	"github.com/llmsim/llmsim/workload/trace"
)

// The shares of Mooncake's traces are what an independent program counts: with caches of
// 1,000, 5,859 and 20,000 blocks, and without a limit. As the paper says (Qin et al., FAST 2025,
// section 5.3.1), caches of 3 million tokens (5,859 blocks of 512) find less than half of what one
// without a limit finds, and caches of 50 million nearly all.
func TestMooncake(t *testing.T) {
	for name, want := range map[string][4]float64{
		"conversation": {0.04453032928942808, 0.13607625649913344, 0.2878162911611785,
			0.3664124783362218},
		"synthetic": {0.08411759396768874, 0.30935287215799534, 0.5717731811580528,
			0.6396038629109676},
	} {
		c, err := reuse.Read(testkit.Shared(t, "traces", "mooncake", name+"_trace.jsonl"),
			trace.Options{})
		testkit.OK(t, err)
		for i, size := range []int{1000, 5859, 20_000, c.Distinct} {
			if got := float64(c.Found(size)) / float64(c.Blocks); got != want[i] {
				t.Errorf("%s, %d blocks: %v, want %v", name, size, got, want[i])
			}
		}
		all := float64(c.Found(c.Distinct))
		small, large := float64(c.Found(3_000_000/512)), float64(c.Found(50_000_000/512))
		if small > 0.5*all || large < 0.99*all {
			t.Errorf("%s: 3 million tokens find %.0f blocks, and 50 million %.0f, of %.0f", name,
				small, large, all)
		}
		if c.Bound(c.Distinct) != c.Found(c.Distinct) {
			t.Errorf("%s: without a limit, %d blocks are found, and %d where the future is known",
				name, c.Found(c.Distinct), c.Bound(c.Distinct))
		}
	}
}

// A cache finds what a list of blocks in the order of their use has, cut at its size. It finds more
// the larger it is, and never more than one that knows the future.
func TestCurves(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		var requests [][]int
		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			name, blocks := 1, []int(nil)
			for range rapid.IntRange(1, 5).Draw(t, "blocks") {
				name = name*4 + rapid.IntRange(0, 2).Draw(t, "branch")
				blocks = append(blocks, name)
			}
			requests = append(requests, blocks)
			fmt.Fprintf(&text, `{"timestamp": 0, "input_length": %d, "output_length": 1, `+
				`"hash_ids": [%s]}`+"\n", 512*len(blocks),
				strings.Trim(strings.ReplaceAll(fmt.Sprint(blocks), " ", ","), "[]"))
		}
		path := filepath.Join(dir, "trace.jsonl")
		testkit.OK(t, os.WriteFile(path, []byte(text.String()), 0o600))
		c, err := reuse.Read(path, trace.Options{})
		testkit.OK(t, err)
		last := 0
		for size := range c.Distinct + 2 {
			var order []int
			want := 0
			for _, blocks := range requests {
				for _, b := range blocks {
					if !slices.Contains(order, b) {
						break
					}
					want++
				}
				for _, b := range slices.Backward(blocks) {
					order = slices.DeleteFunc(order, func(o int) bool { return o == b })
					order = slices.Insert(order, 0, b)
				}
				order = order[:min(len(order), size)]
			}
			got, bound := c.Found(size), c.Bound(size)
			if got != want || got > bound || got < last {
				t.Fatalf("%d blocks: %d are found, want %d; %d in less, at most %d", size, got,
					want, last, bound)
			}
			last = got
		}
	})
}

// A cache without a limit finds of each turn of recorded sessions the full blocks of the prompt
// before it, and none of first turns.
func TestSessions(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text := "session_id,arrival_time,round_idx,prefix_len,input_len,output_len," +
			"tool_wait_after_ms\n"
		requests, blocks, found := 0, 0, 0
		for session := range rapid.IntRange(1, 5).Draw(t, "sessions") {
			context, before := 0, 0
			for round := range rapid.IntRange(1, 8).Draw(t, "rounds") {
				message := rapid.IntRange(16, 90).Draw(t, "message")
				output := rapid.IntRange(1, 90).Draw(t, "output")
				text += fmt.Sprintf("s%d,%d,%d,%d,%d,%d,%d\n", session, session, round, context,
					message, output, rapid.IntRange(0, 9000).Draw(t, "wait"))
				requests, blocks = requests+1, blocks+(context+message)/16
				found += before / 16
				before = context + message
				context += message + output
			}
		}
		path := filepath.Join(dir, "sessions.csv")
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
		c, err := reuse.Read(path, trace.Options{})
		testkit.OK(t, err)
		if c.Requests != requests || c.Blocks != blocks || c.Found(c.Distinct) != found ||
			c.Bound(c.Distinct) != found {
			t.Fatalf("%d requests with %d blocks, %d found; want %d, %d and %d:\n%s", c.Requests,
				c.Blocks, c.Found(c.Distinct), requests, blocks, found, text)
		}
	})
}
