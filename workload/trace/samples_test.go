package trace

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/klauspost/compress/gzip"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// read returns all requests of a trace.
func read(path string, o Options) ([]sim.Request, Counts, error) {
	r, err := Open(path, o)
	if err != nil {
		return nil, Counts{}, err
	}
	defer r.Close()
	var list []sim.Request
	for {
		var q sim.Request
		if err := r.Read(&q); err == io.EOF {
			return list, r.Counts(), nil
		} else if err != nil {
			return list, r.Counts(), err
		}
		list = append(list, q)
	}
}

func mustRead(t *testing.T, path string, o Options) ([]sim.Request, Counts) {
	t.Helper()
	list, counts, err := read(path, o)
	testkit.OK(t, err)
	return list, counts
}

func block(hash uint64, tokens int) sim.Segment {
	return sim.Segment{ID: content.ID(content.TraceBlock, hash), Tokens: tokens}
}

// local is a block of a session whose hashes mean nothing elsewhere.
func local(session, hash uint64, tokens int) sim.Segment {
	return block(content.Hash(hash^content.Hash(session))>>4, tokens)
}

// samples are one small file of each format, and what they hold.
func samples() map[string][]sim.Request {
	const ms = sim.Millisecond
	prefix := content.ID(content.TracePrefix, 3)
	return map[string][]sim.Request{
		"azure2023.csv": {
			{Prompt: 120, Output: 40},
			{Arrival: 750*ms + 100*sim.Nanosecond, Prompt: 2048, Output: 1},
			{Arrival: 60 * sim.Second, Prompt: 7, Output: 300},
			{Arrival: 3600 * sim.Second, Prompt: 64, Output: 1},
		},
		"azure2024.csv": {
			{Prompt: 300, Output: 25},
			{Arrival: 500 * ms, Prompt: 41, Output: 90},
			{Arrival: 500*ms + 250*sim.Microsecond, Prompt: 1200, Output: 8},
		},
		"bailian.jsonl": {
			{Arrival: 61114 * ms, Prompt: 40, Output: 20, Session: 160, Content: []sim.Segment{
				block(1, 16), block(2, 16), block(3, 8)}},
			{Arrival: 62 * sim.Second, Prompt: 16, Output: 5, Session: 161,
				Content: []sim.Segment{block(1, 16)}},
			{Arrival: 63500 * ms, Prompt: 70, Output: 9, Session: 160, Content: []sim.Segment{
				block(1, 16), block(2, 16), block(4, 16), block(5, 16), block(6, 6)}},
		},
		"burstgpt.csv": {
			{Prompt: 90, Output: 15},
			{Arrival: 8 * sim.Second, Prompt: 33, Output: 210},
			{Arrival: 28 * sim.Second, Prompt: 1, Output: 6},
		},
		"mooncake.jsonl": {
			{Prompt: 1100, Output: 20, Content: []sim.Segment{block(7, 512), block(8, 512),
				block(9, 76)}},
			{Arrival: 1003 * ms, Prompt: 1024, Output: 1,
				Content: []sim.Segment{block(7, 512), block(8, 512)}},
			{Arrival: 1003 * ms, Prompt: 600, Output: 64,
				Content: []sim.Segment{block(7, 512), block(10, 88)}},
			{Arrival: 90*sim.Second + 500*sim.Microsecond, Prompt: 30, Output: 5},
		},
		// the first calls; see TestWekaSessions and TestOTelSessions for the others
		"weka.jsonl": {
			{Prompt: 100, Output: 10, Session: 1, Content: []sim.Segment{local(1, 1, 64),
				local(1, 2, 36)}},
			{Prompt: 64, Output: 5, Session: 2, Content: []sim.Segment{local(2, 1, 64)}},
		},
		"otel.json": {{Prompt: 10, Output: 20, Session: 1}},
		"tracelab.csv": { // the first rounds; see TestTracelabSessions for the others
			{Arrival: 117 * ms, Prompt: 2318, Output: 200, Session: 1},
			{Arrival: 1393 * ms, Prompt: 901, Output: 107, Session: 2},
		},
		"sharegpt.json": {
			{Prompt: 25, Output: 130}, {Prompt: 400, Output: 12}, {Prompt: 77, Output: 3},
			{Prompt: 18, Output: 240},
		},
		"llmsim.csv": {
			{Arrival: 500 * ms, Prompt: 100, Output: 20, Class: 1, Tenant: 1, Priority: 2,
				Deadline: 1500 * ms, Session: 11, Content: []sim.Segment{{ID: prefix, Tokens: 64}}},
			{Arrival: 750 * ms, Prompt: 50, Output: 400, Priority: -1},
			{Arrival: 2 * sim.Second, Prompt: 100, Output: 1, Class: 1, Tenant: 1, Priority: 2,
				Deadline: 250 * ms, Session: 11, Content: []sim.Segment{{ID: prefix, Tokens: 100}}},
		},
	}
}

func TestSamples(t *testing.T) {
	counts := map[string]Counts{
		"azure2023.csv": {Rows: 4, Requests: 4, Raised: 1},
		"burstgpt.csv":  {Rows: 5, Requests: 3, Failed: 2, Raised: 1},
	}
	for name, want := range samples() {
		t.Run(name, func(t *testing.T) {
			o := Options{Classes: []string{"batch", "chat"}}
			got, seen := mustRead(t, filepath.Join("testdata", name), o)
			if name == "otel.json" { // named by their texts
				got[0].Content, got[0].Answer = nil, 0
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("requests differ (-want +got):\n%s", diff)
			}
			wanted, ok := counts[name]
			if !ok {
				wanted = Counts{Rows: int64(len(want)), Requests: int64(len(want))}
			}
			if seen != wanted {
				t.Errorf("counts %+v, want %+v", seen, wanted)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	_, counts := mustRead(t, filepath.Join("testdata", "burstgpt.csv"), Options{MaxContext: 200})
	want := []string{
		"2 of 5 rows of the trace are failed requests and were left out",
		"1 of 5 rows of the trace do not fit into the context and were left out",
		"1 of 5 rows of the trace had no prompt or no output token and got one",
	}
	if diff := cmp.Diff(want, counts.Warnings()); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
	if got := (Counts{Rows: 3, Requests: 2, Outside: 1}).Warnings(); got != nil {
		t.Errorf("a slice warns: %q", got)
	}
}

// A trace reads the same when it is compressed, starts with a byte order mark, has Unix or Windows
// line ends, or names its format.
func TestSamplesInOtherWrappings(t *testing.T) {
	formats := map[string]string{"azure2023.csv": "azure", "azure2024.csv": "azure",
		"burstgpt.csv": "burstgpt", "mooncake.jsonl": "mooncake", "sharegpt.json": "sharegpt",
		"llmsim.csv": "llmsim"}
	for name := range samples() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name)
			want, _ := mustRead(t, path, Options{})
			data := testkit.Read(t, path)
			unix := bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
			for what, wrapped := range map[string][]byte{
				"gzip":                zip(t, data),
				"a byte order mark":   append([]byte("\xef\xbb\xbf"), data...),
				"Unix line ends":      unix,
				"Windows line ends":   bytes.ReplaceAll(unix, []byte("\n"), []byte("\r\n")),
				"blank lines at ends": append(append([]byte("\n\n"), data...), "\n\n"...),
			} {
				other := save(t, wrapped)
				got, _ := mustRead(t, other, Options{Format: formats[name]})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("with %s requests differ (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

func zip(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	testkit.OK(t, w.Close())
	return out.Bytes()
}

func save(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace")
	testkit.OK(t, os.WriteFile(path, data, 0o600))
	return path
}

// The published files, where they are at hand: totals counted with other tools.
func TestPublishedTraces(t *testing.T) {
	folder := testkit.Shared(t, "traces")
	for name, want := range map[string]struct {
		requests, failed int
		prompt, output   int
	}{
		"AzureLLMInferenceTrace_code.csv":                     {8819, 0, 18059974, 245896},
		"AzureLLMInferenceTrace_conv.csv":                     {19366, 0, 22361870, 4088665},
		"BurstGPT_1_first32.csv":                              {31, 1, 20204, 11151},
		filepath.Join("mooncake", "conversation_trace.jsonl"): {12031, 0, 144793823, 4122048},
		filepath.Join("mooncake", "synthetic_trace.jsonl"):    {3993, 0, 61194628, 595432},
	} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			got, counts := mustRead(t, filepath.Join(folder, name), Options{})
			prompt, output := 0, 0
			for _, q := range got {
				prompt += q.Prompt
				output += q.Output
			}
			if len(got) != want.requests || prompt != want.prompt || output != want.output ||
				counts.Failed != int64(want.failed) {
				t.Errorf("%d requests, %d failed, %d prompt and %d output tokens; want %+v",
					len(got), counts.Failed, prompt, output, want)
			}
			if counts.Raised != 0 {
				t.Errorf("%d requests were raised to one token", counts.Raised)
			}
		})
	}
}

// An infinite prefix cache over the conversation trace hits 36.6 % of the 512-token blocks (Qin et
// al., FAST 2025): a prompt hits as far as its blocks were all seen before.
func TestMooncakeSharing(t *testing.T) {
	path := testkit.Shared(t, "traces", "mooncake", "conversation_trace.jsonl")
	list, _ := mustRead(t, path, Options{})
	seen := map[uint64]bool{}
	blocks, hits := 0, 0
	for _, q := range list {
		hit := true
		for _, s := range q.Content {
			hit = hit && seen[s.ID]
			if hit {
				hits++
			}
			seen[s.ID] = true
		}
		blocks += len(q.Content)
	}
	if got := 100 * float64(hits) / float64(blocks); got < 36.55 || got > 36.65 {
		t.Errorf("an infinite cache hits %.2f %% of the blocks, want 36.6 %%", got)
	}
}
