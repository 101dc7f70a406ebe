package records

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/must"
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
		id, err := s.Put(scenarioRecord(rate))
		must.OK(t, err)
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
	id, err := s.Put(r)
	must.OK(t, err)
	e, err := s.Get(id)
	must.OK(t, err)
	return e.Record
}

// Files that are changed or that are no records never pass for one, whatever they hold.
func TestHostileFiles(t *testing.T) {
	dir := t.TempDir()
	s := Open(dir)
	id, err := s.Put(scenarioRecord("1/s"))
	must.OK(t, err)
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

// llm-d's report has the keys and units of its example, and seconds.
func TestLLMDReport(t *testing.T) {
	s := Open(t.TempDir())
	id, err := s.Put(scenarioRecord("3/s"))
	must.OK(t, err)
	e, err := s.Get(id)
	must.OK(t, err)
	var b strings.Builder
	must.OK(t, e.WriteLLMD(&b))
	var report struct {
		Version  string
		Scenario struct {
			Load struct{ Standardized map[string]any }
		}
		Results struct {
			Performance struct {
				Aggregate struct {
					Latency  map[string]map[string]any
					Requests map[string]any
				}
			} `json:"request_performance"`
		}
	}
	must.OK(t, json.Unmarshal([]byte(b.String()), &report))
	a := report.Results.Performance.Aggregate
	ttft := a.Latency["time_to_first_token"]
	if report.Version != "0.2.1" || ttft["mean"] != 0.02 || ttft["p99"] != 0.05 ||
		ttft["units"] != "s" || a.Requests["total"] != 10.0 || a.Requests["failures"] != 0.0 ||
		report.Scenario.Load.Standardized["rate_qps"] != 3.0 {
		t.Errorf("report %s", b.String())
	}
	if _, has := a.Latency["inter_token_latency"]; has {
		t.Error("what the record does not have is absent")
	}
}

// mlflow answers as the documented REST API 2.0 does, and keeps what it is sent.
type mlflow struct {
	t     *testing.T
	calls []string
	runs  map[string]map[string]any
}

func (m *mlflow) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/2.0/mlflow/")
	m.calls = append(m.calls, path)
	body := map[string]any{}
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			m.t.Error(err)
		}
	}
	answer := map[string]any{}
	switch path {
	case "experiments/get-by-name":
		w.WriteHeader(http.StatusNotFound)
		answer = map[string]any{"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "no"}
	case "experiments/create":
		answer["experiment_id"] = "7"
	case "runs/search":
		var found []any
		for id := range m.runs {
			if strings.Contains(body["filter"].(string), id) {
				found = append(found, map[string]any{})
			}
		}
		answer["runs"] = found
	case "runs/create":
		answer["run"] = map[string]any{"info": map[string]any{"run_id": "r1"}}
	case "runs/log-batch":
		for _, kind := range []string{"metrics", "params", "tags"} {
			list, _ := body[kind].([]any)
			if len(list) > 1000 || kind != "metrics" && len(list) > 100 {
				m.t.Errorf("%d %s in one request", len(list), kind)
			}
			for _, each := range list {
				pair := each.(map[string]any)
				if kind == "tags" && pair["key"] == "llmsim.id" {
					m.runs[pair["value"].(string)] = body
				}
			}
		}
	case "runs/update":
		if body["status"] != "FINISHED" {
			m.t.Errorf("status %v", body["status"])
		}
	default:
		m.t.Errorf("unknown call %s", path)
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		m.t.Error(err)
	}
}

// Records are sent once, and a server that fails or is none is an error.
func TestSendMLflow(t *testing.T) {
	s := Open(t.TempDir())
	if _, err := s.Put(scenarioRecord("1/s")); err != nil {
		t.Fatal(err)
	}
	list, _, err := s.List()
	must.OK(t, err)
	m := &mlflow{t: t, runs: map[string]map[string]any{}}
	server := httptest.NewServer(m)
	defer server.Close()
	for _, want := range []int{1, 0} {
		sent, err := SendMLflow(context.Background(), server.URL, "llmsim", list)
		if err != nil || sent != want {
			t.Errorf("sent %d, want %d: %v", sent, want, err)
		}
	}
	if !slices.Contains(m.calls, "runs/update") {
		t.Errorf("calls %v", m.calls)
	}
	broken := httptest.NewServer(http.NotFoundHandler())
	defer broken.Close()
	for _, url := range []string{broken.URL, "file:///etc/passwd", "x", ""} {
		if _, err := SendMLflow(context.Background(), url, "llmsim", list); err == nil {
			t.Errorf("%q is no MLflow server", url)
		}
	}
}

// The folder has MLflow's layout: a metric is "time value step", in a file of its name.
func TestWriteMLflow(t *testing.T) {
	s := Open(t.TempDir())
	if _, err := s.Put(scenarioRecord("1/s")); err != nil {
		t.Fatal(err)
	}
	list, _, err := s.List()
	must.OK(t, err)
	dir := t.TempDir()
	must.OK(t, WriteMLflow(dir, list))
	found, err := filepath.Glob(filepath.Join(dir, experiment, "*", "metrics", "mean_ttft_ms"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	data, err := os.ReadFile(found[0])
	if fields := strings.Fields(string(data)); err != nil || len(fields) != 3 ||
		fields[1] != "20" || fields[2] != "0" {
		t.Errorf("metric %q %v", data, err)
	}
	run := filepath.Dir(filepath.Dir(found[0]))
	data, err = os.ReadFile(filepath.Join(run, "meta.yaml"))
	if err != nil || !strings.Contains(string(data), "run_id: "+filepath.Base(run)+"\n") {
		t.Errorf("meta.yaml %s %v", data, err)
	}
	data, err = os.ReadFile(filepath.Join(run, "params", "workload.rate"))
	if err != nil || string(data) != "1/s" {
		t.Errorf("param %q %v", data, err)
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
