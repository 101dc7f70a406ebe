package scenarios

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// talks is a load of conversations that share two long system prompts, over tiers and a pool.
const talks = "model: llama-3.1-8b\nhardware: h100-sxm\nreplicas: 2\nrouting: session-affinity\n" +
	"memory: {tokens: 30000, tiers: [hbm, {store: host, size: 4GiB}, " +
	"{store: pool, size: 8GiB}]}\n" +
	"workload: {requests: 300, rate: 6/s, prompt: 400, output: 30, prefix: {tokens: 3000, " +
	"groups: 6}, sessions: {turns: 4, think: 1s}}\n"

// startingAt returns the result of a run that starts with the given caches, and what its own hold
// at the end.
func startingAt(t *testing.T, text, snapshot string, step bool) (*Result, string) {
	t.Helper()
	file, err := Parse("t.yaml", []byte(text))
	testkit.OK(t, err)
	file.FS = fstest.MapFS{"caches.json": {Data: []byte(snapshot)}}
	s, err := file.Build(policies.Default())
	testkit.OK(t, err)
	if step {
		s.config.MaxLeap = 1
	}
	r, err := s.Run(t.Context())
	testkit.OK(t, err)
	var kept bytes.Buffer
	testkit.OK(t, s.SaveCaches(&kept))
	return r, kept.String()
}

// Warm caches and those of a snapshot find more than cold ones. Requests before the run count
// nowhere, and a snapshot goes on where another ended: leaping and stepping alike.
func TestCachesStart(t *testing.T) {
	cold, kept := startingAt(t, talks, "", false)
	warm, _ := startingAt(t, talks+"caches: {start: warm, requests: 100}\n", "", false)
	full, _ := startingAt(t, talks+"caches: {start: warm, share: 0.3}\n", "", false)
	again := talks + "caches: {start: snapshot, file: caches.json}\n"
	next, after := startingAt(t, again, kept, false)
	stepped, same := startingAt(t, again, kept, true)
	if warm.Sent() != 200 || full.Sent() >= 300 || next.Sent() != 300 {
		t.Errorf("%d, %d and %d requests", warm.Sent(), full.Sent(), next.Sent())
	}
	share := func(r *Result) float64 {
		return float64(r.CachedTokens) / float64(r.TotalInputTokens)
	}
	first := func(r *Result) float64 { return r.Sessions.Turns[0].CachedShare }
	for name, r := range map[string]*Result{"warm": warm, "full": full, "snapshot": next} {
		if share(r) <= share(cold) {
			t.Errorf("%s finds %v of its prompts, cold caches %v", name, share(r), share(cold))
		}
	}
	// The first prompt of a conversation finds its system prompt, and nothing of its own message.
	if got := first(next); got <= first(cold) || got > 3000.0/3400 {
		t.Errorf("first turns find %v of their prompts, with cold caches %v", got, first(cold))
	}
	if after != same || next.MeanE2EL != stepped.MeanE2EL ||
		next.FetchedTokens != stepped.FetchedTokens {
		t.Error("leaps and steps differ")
	}
}

// Layers of several kinds start warm as well, leaping and stepping alike.
func TestHybridStartsWarm(t *testing.T) {
	const load = "model: gemma-3-27b\nhardware: h100-sxm\nparallelism: 2\n" +
		"workload: {requests: 120, rate: 3/s, prompt: 400, output: 30, prefix: {tokens: 3000, " +
		"groups: 30}, sessions: {turns: 4, think: 1s}}\n"
	run := func(text string, leap int64) *Result {
		file, err := Parse("t.yaml", []byte(text))
		testkit.OK(t, err)
		s, err := file.Build(policies.Default())
		testkit.OK(t, err)
		s.config.MaxLeap = leap
		r, err := s.Run(t.Context())
		testkit.OK(t, err)
		return r
	}
	cold := run(load, 0)
	warm := run(load+"caches: {start: warm, requests: 60}\n", 0)
	full := run(load+"caches: {start: warm, share: 0.5}\n", 0)
	stepped := run(load+"caches: {start: warm, requests: 60}\n", 1)
	if warm.Sent() != 60 || full.Sent() >= 120 {
		t.Errorf("%d and %d requests", warm.Sent(), full.Sent())
	}
	for _, r := range []*Result{cold, warm, full} { // all requests arrive, in the run or before it
		if words := strings.Join(r.Warnings, "\n"); strings.Contains(words, " arrived") {
			t.Errorf("warnings %q", words)
		}
	}
	got, before := warm.Sessions.Turns[0].CachedShare, cold.Sessions.Turns[0].CachedShare
	if got <= before || got > 3000.0/3400 {
		t.Errorf("first turns find %v of their prompts, with a cold cache %v", got, before)
	}
	if warm.MeanE2EL != stepped.MeanE2EL || warm.CachedTokens != stepped.CachedTokens {
		t.Error("leaps and steps differ")
	}
}

// A run that starts from a snapshot of nothing is a cold one, but for the texts of its sessions.
func TestSnapshotOfNothing(t *testing.T) {
	plain := strings.Replace(talks, "sessions: {turns: 4, think: 1s}", "sessions: {turns: 1}", 1)
	plain = strings.Replace(plain, "session-affinity", "round-robin", 1) // not by the session
	cold, _ := startingAt(t, plain, "", false)
	short := strings.Replace(plain, "requests: 300", "requests: 1, duration: 1ms", 1)
	_, none := startingAt(t, short, "", false)
	same, _ := startingAt(t, plain+"caches: {start: snapshot, file: caches.json}\n", none, false)
	if cold.CachedTokens != same.CachedTokens || cold.MeanTTFT != same.MeanTTFT {
		t.Errorf("%d cached tokens, and %d from nothing", cold.CachedTokens, same.CachedTokens)
	}
}

// Whatever byte of a snapshot is changed, it is refused, or holds the same.
func TestAChangedSnapshotIsFound(t *testing.T) {
	short := strings.Replace(talks, "requests: 300", "requests: 1", 1)
	_, kept := startingAt(t, strings.Replace(short, "tokens: 3000,", "tokens: 16,", 1), "", false)
	testkit.Changed(t, []byte(kept), func(text []byte) (*snapshot, error) {
		return readSnapshot(fstest.MapFS{"kept": {Data: text}}, "kept")
	})
}

func TestCachesRefuse(t *testing.T) {
	_, kept := startingAt(t, talks, "", false)
	for _, c := range [][2]string{
		{"caches: {start: warm}",
			"caches: found warm with 0 requests"},
		{"caches: {start: warm, requests: 9, share: 0.5}",
			"caches: found warm with 9 requests"},
		{"caches: {start: warm, requests: 300}",
			"caches: all 300 requests"},
		{"caches: {start: warm, requests: 3000}",
			"caches: the workload ends after 300"},
		{"caches: {start: warm, share: 1}\nmemory.tiers.1.size: 400GiB",
			"of the KV memory full"},
		{"caches: {start: hot}",
			`caches.start: found "hot"`},
		{"caches: {start: cold, requests: 3}",
			"caches.requests"},
		{"caches: {start: snapshot}",
			"caches.file"},
		{"caches: {start: snapshot, file: none}",
			"caches.file: none"},
		{"caches: {start: snapshot, file: broken}",
			"found no file of --save-caches"},
		{"caches: {start: snapshot, file: kept}\nreplicas: 3",
			"caches.file: kept: found the caches of 2"},
		{"caches: {start: snapshot, file: kept}\nmodel: llama-2-7b",
			"found a cache of llama-3.1-8b"},
		{"caches: {start: warm, requests: 9}\nmemory: {policy: paged}",
			"caches.start: found warm; with"},
		{"caches: {start: snapshot, file: kept}\nmodel: gemma-3-27b\nmemory: {policy: hybrid}",
			"caches.start: found snapshot; with"},
		{"caches: {start: snapshot, file: kept}\nmemory: {policy: radix}",
			"found 1 pools, want 0"},
	} {
		text, want := c[0], c[1]
		settings := strings.Split(text, "\n")
		line := talks + settings[0] + "\n"
		var overrides []string
		for _, s := range settings[1:] {
			overrides = append(overrides, strings.Replace(s, ": ", "=", 1))
		}
		file, err := Parse("t.yaml", []byte(line), overrides...)
		if err == nil {
			file.FS = fstest.MapFS{"kept": {Data: []byte(kept)},
				"broken": {Data: []byte(`{"a": 1}`)}}
			_, err = file.Build(policies.Default())
		}
		if err == nil || !IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// A memory without contents that a file could hold is named with its model.
func TestSaveCachesRefuses(t *testing.T) {
	f, err := Parse("t.yaml", []byte("model: gemma-3-27b\nhardware: h100-sxm\nmemory: hybrid\n"))
	err = build(t, f, err).SaveCaches(io.Discard)
	if want := "--save-caches: memory: found the policy hybrid for gemma-3-27b"; err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
