package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

func roundsFile(rows ...string) Options {
	return Options{FS: fstest.MapFS{"t.jsonl": {Data: []byte(strings.Join(rows, "\n"))}}}
}

func roundRow(session string, total, prefix, output int, events string) string {
	return fmt.Sprintf(`{"session_id":%q,"newly_append_tokens":%d,"input_tokens_total":%d,`+
		`"prefix_tokens":%d,"output_tokens":%d,"timing_events":[%s]}`, session, total-prefix, total,
		prefix, output, events)
}

// A prompt shares as many tokens with the session before it as were cached, even where the text was
// cut, and comes after the tools' time; another session shares nothing.
func TestTracelabRoundsRepeatWhatWasCached(t *testing.T) {
	event := func(kind string, second int) string {
		return fmt.Sprintf(`{"event_type":%q,"timestamp":"2026-06-01T05:40:%02dZ"}`, kind, second)
	}
	r, err := Open("t.jsonl", roundsFile(
		roundRow("a", 100, 60, 20, event("user_message", 1)+","+event("tool_call", 5)),
		roundRow("a", 130, 110, 10, event("tool_result", 12)+","+event("text", 15)),
		roundRow("a", 90, 70, 5, event("user_message", 14)),
		roundRow("b", 50, 40, 1, "")))
	testkit.OK(t, err)
	defer r.Close()
	var q sim.Request
	testkit.OK(t, r.Read(&q))
	turns := r.Turns()
	if q.Prompt != 100 || q.Output != 20 || len(turns) != 2 {
		t.Fatalf("%+v, then %+v", q, turns)
	}
	before := append(q.Content, sim.Segment{ID: q.Answer, Tokens: q.Output})
	for i, want := range []struct {
		tokens, shared int
		wait           sim.Time
	}{{130, 110, 7 * sim.Second}, {90, 70, 0}} {
		total, shared, same := 0, 0, true
		for k, s := range turns[i].Prompt {
			total += s.Tokens
			if same = same && k < len(before) && before[k].ID == s.ID; same {
				shared += s.Tokens
			}
		}
		if total != want.tokens || turns[i].Message != total || shared != want.shared ||
			turns[i].Wait != want.wait {
			t.Errorf("turn %d: %+v shares %d tokens, want %+v", i+1, turns[i], shared, want)
		}
		before = append(turns[i].Prompt, sim.Segment{ID: turns[i].Answer, Tokens: turns[i].Output})
	}
	first := q.Content[0].ID
	testkit.OK(t, r.Read(&q))
	if q.Content[0].ID == first || q.Prompt != 50 || len(r.Turns()) != 0 {
		t.Errorf("%+v after a session that begins with %d", q, first)
	}
}

func TestTracelabRoundsRefuse(t *testing.T) {
	for row, want := range map[string]string{
		roundRow("a", 0, 0, 1, ""):    "found input_tokens_total 0",
		roundRow("a", 10, 11, 1, ""):  "prefix_tokens 11",
		roundRow("a", 10, 1, -1, ""):  "output_tokens -1",
		roundRow("a", 1, 0, 1, "{]}"): "t.jsonl:1",
		strings.Replace(roundRow("a", 10, 4, 1, ""), `"newly_append_tokens":`,
			`"newly_append_tokens":1`, 1): "newly_append_tokens",
	} {
		if _, _, err := read("t.jsonl", roundsFile(row)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", row, err, want)
		}
	}
}

// A call that repeats a key is refused with its line and its place, as in every file of objects.
func TestRepeatedKeysOfCallsAreFoundByTheirPlace(t *testing.T) {
	call := roundRow("a", 9, 0, 1, "")
	twice := strings.Replace(call, `"output_tokens":1`, `"output_tokens":1,"output_tokens":2`, 1)
	for at := range 3 {
		f, err := Open("t.jsonl", roundsFile(append(slices.Repeat([]string{call}, at), twice)...))
		for err == nil {
			var q sim.Request
			err = f.Read(&q)
		}
		if want := fmt.Sprintf("entry %d: ", at+1); !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
