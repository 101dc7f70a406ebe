package serve

import (
	"strings"
	"testing"
	"time"
)

// Lateness is that of what clients got, in the last windows, and who runs the server is warned when
// a tenth of a window is late.
func TestLateness(t *testing.T) {
	var warnings []string
	l := lateness{warn: func(message string) { warnings = append(warnings, message) }}
	start := time.Now()
	at := func(d time.Duration) time.Time { return start.Add(d) }
	for n := range 100 {
		due := at(time.Duration(n) * 10 * time.Millisecond)
		late := time.Duration(0)
		if n%5 == 0 {
			late = 27 * time.Millisecond
		}
		l.recordDelivery(due, due.Add(late))
	}
	if worst := l.worst(at(2 * time.Second)); worst != 27*time.Millisecond {
		t.Errorf("the worst is %v, want 27 ms", worst)
	}
	l.recordDelivery(at(6*time.Second), at(6*time.Second))
	if len(warnings) != 1 || !strings.Contains(warnings[0], "of 100 deliveries") ||
		!strings.Contains(warnings[0], "20 came more than 10ms late, and one 27ms") {
		t.Errorf("warnings: %q", warnings)
	}
	for n := range 50 { // in time, but for two
		due := at(6*time.Second + time.Duration(n)*time.Millisecond)
		l.recordDelivery(due, due.Add(time.Duration(n/48)*50*time.Millisecond))
	}
	l.recordDelivery(at(12*time.Second), at(12*time.Second))
	if len(warnings) != 1 {
		t.Errorf("warnings: %q", warnings)
	}
	if worst := l.worst(at(time.Minute)); worst != 0 {
		t.Errorf("long after, the worst is %v", worst)
	}
}

// What a loaded server delivers is measured where it is written: a whole answer once, and a stream
// each time that it is written, which may take several tokens at once.
func TestDeliveriesAreMeasured(t *testing.T) {
	i := open(t, small, nil)
	measured := func() int {
		i.late.mu.Lock()
		defer i.late.mu.Unlock()
		return i.late.now.count + i.late.last.count
	}
	i.ask(t, "/v1/completions", `{"prompt":"x","max_tokens":5}`)
	if n := measured(); n != 1 {
		t.Errorf("an answer is measured %d times", n)
	}
	i.post(t, "/v1/completions", `{"prompt":"x","max_tokens":5,"stream":true}`)
	if n := measured() - 1; n < 1 {
		t.Errorf("a stream of 5 tokens is measured %d times", n)
	}
}
