package trace

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// Each request of the sample brings the later rounds of its session.
func TestTracelabSessions(t *testing.T) {
	r, err := Open(filepath.Join("testdata", "tracelab.csv"), Options{})
	testkit.OK(t, err)
	defer r.Close()
	const ms = sim.Millisecond
	var q sim.Request
	for _, want := range [][]Turn{
		{{Message: 348, Output: 131, Wait: 300 * ms}, {Message: 812, Output: 104, Wait: 154 * ms}},
		nil,
	} {
		if err := r.Read(&q); err != nil || !cmp.Equal(r.Turns(), want, cmpopts.EquateEmpty()) {
			t.Errorf("session %d: %v, %v; want %v", q.Session, r.Turns(), err, want)
		}
	}
	if err := r.Read(&q); err != io.EOF || !r.Sessions() {
		t.Errorf("after the last: %v", err)
	}
}

// What does not go on where the round before ended is refused, with its line.
func TestTracelabRefuses(t *testing.T) {
	const head = "session_id,arrival_time,round_idx,prefix_len,input_len,output_len," +
		"tool_wait_after_ms\n"
	for rows, want := range map[string]string{
		"a,0,1,0,5,5,0":                 ":2: round_idx: found 1, allowed: 0",
		"a,0,0,0,5,5,0\na,0,2,10,5,5,0": ":3: round_idx: found 2, allowed: 1",
		"a,0,0,0,5,5,0\na,0,1,9,5,5,0":  ":3: prefix_len: found 9, allowed: 10",
		"a,0,0,0,5,5":                   ":2: found 6 fields, allowed: 7",
		"a,0,0,0,5,-5,0":                `:2: output_len: found "-5"`,
		"a,9,0,0,5,5,0\nb,8,0,0,5,5,0":  "before the one above it",
	} {
		_, _, err := read(save(t, []byte(head+rows+"\n")), Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", rows, err, want)
		}
	}
}

// The sums of TraceLab's own example equal an independent count.
func TestTracelabExample(t *testing.T) {
	path := testkit.Shared(t, "traces", "agents", "tracelab_multi_session_large.csv")
	r, err := Open(path, Options{})
	testkit.OK(t, err)
	defer r.Close()
	var q sim.Request
	prefix, fresh, answers, calls := 0, 0, 0, 0
	for err = r.Read(&q); err == nil; err = r.Read(&q) {
		length := q.Prompt + q.Output
		fresh += q.Prompt
		answers += q.Output
		calls += 1 + len(r.Turns())
		for _, turn := range r.Turns() {
			prefix += length
			fresh += turn.Message
			answers += turn.Output
			length += turn.Message + turn.Output
		}
	}
	c := r.Counts()
	if err != io.EOF || c.Requests != 48 || calls != 303 || prefix != 939_365 ||
		fresh != 211_032 || answers != 58_678 {
		t.Errorf("%+v, %d calls, %d repeated, %d new and %d generated tokens: %v", c, calls, prefix,
			fresh, answers, err)
	}
}
