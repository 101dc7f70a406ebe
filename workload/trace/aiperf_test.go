package trace

import (
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// A turn of AIPerf's sessions has the whole conversation before it, and comes its delay after the
// answer; sessions share what their hashes name and nothing else.
func TestAIPerfTurnsGoOnWithTheConversation(t *testing.T) {
	r, err := Open("t.jsonl", roundsFile(
		`{"session_id": "a", "timestamp": 10, "input_length": 600, "output_length": 50, `+
			`"hash_ids": [7, 8]}`,
		`{"session_id": "a", "delay": 500.5, "input_length": 100, "output_length": 60}`,
		`{"session_id": "a", "delay": 0, "input_length": 30, "output_length": 5}`,
		`{"session_id": 2, "timestamp": 900, "input_length": 600, "output_length": 1, `+
			`"hash_ids": [7, 9]}`,
		`{"timestamp": 950, "input_length": 20, "output_length": 1}`))
	testkit.OK(t, err)
	defer r.Close()
	var q sim.Request
	testkit.OK(t, r.Read(&q))
	turns := r.Turns()
	if q.Arrival != 10*sim.Millisecond || q.Prompt != 600 || len(turns) != 2 || !r.Sessions() {
		t.Fatalf("%+v, then %+v", q, turns)
	}
	first := q.Content[0].ID
	before, answer, output := q.Content, q.Answer, q.Output
	for i, want := range []struct {
		tokens int
		wait   sim.Time
	}{{600 + 50 + 100, sim.Seconds(0.5005)}, {750 + 60 + 30, 0}} {
		turn := &turns[i]
		before = append(before[:len(before):len(before)], sim.Segment{ID: answer, Tokens: output})
		total := 0
		for k, part := range turn.Prompt {
			if total += part.Tokens; k < len(before) && before[k] != part {
				t.Errorf("turn %d: segment %d is %v, want %v of the turn before", i+1, k, part,
					before[k])
			}
		}
		if total != want.tokens || turn.Message != total || turn.Wait != want.wait ||
			len(turn.After) != 1 || turn.After[0] != i {
			t.Errorf("turn %d: %+v of %d tokens, want %+v", i+1, turn, total, want)
		}
		before, answer, output = turn.Prompt, turn.Answer, turn.Output
	}
	testkit.OK(t, r.Read(&q))
	if q.Content[0].ID != first || len(r.Turns()) != 0 || q.Session != 2 {
		t.Errorf("%+v after a session that begins with %d", q, first)
	}
	testkit.OK(t, r.Read(&q))
	if q.Prompt != 20 || q.Session != 3 {
		t.Errorf("%+v without a session_id", q)
	}
}

func TestAIPerfRefuses(t *testing.T) {
	const first = `{"session_id": "a", "timestamp": 0, "input_length": 3, "output_length": 5}`
	for row, want := range map[string]string{
		`{"session_id": "b", "delay": 5, "input_length": 3, "output_length": 5}`: ":3: delay: " +
			`found in the first row of the session "b"`,
		`{"session_id": "a", "delay": -5, "input_length": 3, "output_length": 5}`: ":3: delay: " +
			"found -5",
		`{"session_id": "a", "delay": 5, "input_length": 9999999999, "output_length": 5}`: ":3: " +
			"input_length: found none or 9999999999",
	} {
		_, _, err := read("t.jsonl", roundsFile(first, strings.Replace(first, `"timestamp": 0`,
			`"delay": 1`, 1), row))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", row, err, want)
		}
	}
}
