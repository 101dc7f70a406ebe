package records

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// scenarioRecord is a record such as the scenario command keeps.
func scenarioRecord(rate string) *Record {
	return &Record{Command: "scenario", Args: []string{"chat"}, Name: "chat", Version: "v1",
		Result: json.RawMessage(`{"version": "v1", "seed": 0, "completed": 10, "lost": 0,
			"duration": 5.5, "mean_ttft_ms": 20, "p99_ttft_ms": 50, "output_throughput": 7,
			"total_token_throughput": 9, "request_throughput": 2,
			"scenario": {"model": "llama-3.1-8b", "workload": {"rate": "` + rate + `"}},
			"evidence": {"grade": "measured", "errors": [{"median_error": 0.1}]}}`)}
}

// What is put is got again, by any beginning of its name that is long enough, and twice is once.
func TestPutAndGet(t *testing.T) {
	s := Open(t.TempDir())
	var ids []string
	for _, rate := range []string{"1/s", "2/s", "1/s"} {
		id, err := s.Put(scenarioRecord(rate), About{})
		testkit.OK(t, err)
		ids = append(ids, id)
	}
	if ids[0] != ids[2] || ids[0] == ids[1] {
		t.Errorf("names %v", ids)
	}
	e, err := s.Get(ids[1][:12])
	if err != nil || e.ID != ids[1] {
		t.Fatal(e, err)
	}
	for _, name := range []string{"", ids[0][:3], "../" + ids[0], "zzzz", ids[0] + "0"} {
		if _, err := s.Get(name); err == nil {
			t.Errorf("%q is no record", name)
		}
	}
	settings, figures, err := Diff(scenarioRecord("1/s").with(t, s), e.Record)
	if err != nil || len(figures) > 0 || len(settings) != 1 ||
		settings[0] != (Difference{Key: "workload.rate", One: "1/s", Other: "2/s"}) {
		t.Errorf("differences %v %v %v", settings, figures, err)
	}
	if _, err := s.Remove(ids[1]); err != nil {
		t.Error(err)
	}
	if _, err := s.Get(ids[1]); err == nil {
		t.Error("it was removed")
	}
}

// with returns the record as the store has it.
func (r *Record) with(t *testing.T, s *Store) *Record {
	id, err := s.Put(r, About{})
	testkit.OK(t, err)
	e, err := s.Get(id)
	testkit.OK(t, err)
	return e.Record
}

// Files that are changed or that are no records never pass for one, whatever they hold.
func TestHostileFiles(t *testing.T) {
	dir := t.TempDir()
	s := Open(dir)
	id, err := s.Put(scenarioRecord("1/s"), About{})
	testkit.OK(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.SliceOf(rapid.Byte()).Draw(rt, "text")
		name := rapid.StringMatching(`[0-9a-f]{64}`).Draw(rt, "name")
		if name == id {
			return
		}
		path := filepath.Join(dir, name+".json")
		if err := os.WriteFile(path, text, 0o666); err != nil {
			rt.Fatal(err)
		}
		list, problems, err := s.List()
		if err != nil || len(list) != 1 || len(problems) != 1 {
			rt.Errorf("%d records, problems %v, %v", len(list), problems, err)
		}
		os.Remove(path)
	})
}

// A deep result ends in an error, and not the program.
func TestDeepResult(t *testing.T) {
	r := scenarioRecord("1/s")
	r.Result = json.RawMessage(strings.Repeat("[", 5000) + strings.Repeat("]", 5000))
	if _, err := r.Figures(); err == nil {
		t.Error("want an error")
	}
}

// Another version that computes the same gives the same result, apart from the version that it
// states; another figure is another result.
func TestSameResult(t *testing.T) {
	r := Record{Version: "v1", Result: json.RawMessage(`{"a": 1, "version": "v1"}`)}
	for _, test := range []struct {
		result, version string
		want            bool
	}{{`{"a":1,"version":"v1"}`, "v1", true}, {`{"a":1,"version":"v2"}`, "v2", true},
		{`{"a":2,"version":"v2"}`, "v2", false}, {`{"a":1,"version":"v3"}`, "v2", false}} {
		if got, err := r.SameResult([]byte(test.result), test.version); got != test.want ||
			err != nil {
			t.Errorf("%s of %s: %v, %v, want %v", test.result, test.version, got, err, test.want)
		}
	}
}
