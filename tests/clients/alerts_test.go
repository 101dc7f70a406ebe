package clients

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/llmsim/llmsim/internal/testkit"
)

// TestAlerts replays two simulated runs of three hours to Debian's Prometheus: in a fleet of two of
// which one is down for twenty minutes, every alert of docs/monitoring/alerts.yaml begins after the
// replica has left and ends after it is back; without the outage, none begins.
func TestAlerts(t *testing.T) {
	rules := monitoring(t, "alerts.yaml")
	program := os.Getenv(built)
	const leaves, back, end = 60, 80, 180 // minutes
	outage := fmt.Sprintf("fleet={outages: [{replica: 0, at: %dm, for: %dm}]}", leaves,
		back-leaves)
	broken, sound := history(t, program, outage), history(t, program, "seed=1")
	for name, expression := range alerts(t, rules) {
		minutes := firing(t, broken, expression, end)
		if len(minutes) == 0 {
			t.Errorf("%s: silent during the outage", name)
			continue
		}
		first, last := minutes[0], minutes[len(minutes)-1]
		t.Logf("%s: from minute %d to %d", name, first, last)
		if first <= leaves || first > back || last > end-60 {
			t.Errorf("%s: from minute %d to %d; the outage was from %d to %d", name, first,
				last, leaves, back)
		}
		if minutes := firing(t, sound, expression, end); len(minutes) != 0 {
			t.Errorf("%s: at minutes %v without an outage", name, minutes)
		}
	}
}

// history returns the address of a Prometheus that holds the metrics of three simulated hours.
func history(t *testing.T, program, setting string) string {
	t.Helper()
	dir := t.TempDir()
	metrics, data := filepath.Join(dir, "metrics.txt"), filepath.Join(dir, "data")
	for _, cmd := range []*exec.Cmd{
		testkit.Command(t, program, "scenario", "chat", "--set", "replicas=2", "--set",
			"workload.rate=40/s", "--set", "workload.duration=3h", "--set", setting,
			"--no-interval", "--metrics", metrics),
		testkit.Command(t, "promtool", "tsdb", "create-blocks-from", "openmetrics", metrics, data),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	address := startPrometheus(t, data, "global: {}\n", "--storage.tsdb.retention.time=10y")
	for range 100 {
		if response, err := http.Get(address + "/-/ready"); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return address
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("Prometheus is not ready after ten seconds")
	return ""
}

// alerts returns the expression of each alert of a file of rules, by its name.
func alerts(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			list[rule.Alert] = rule.Expr
		}
	}
	if len(list) == 0 {
		t.Fatal("no alerts")
	}
	return list
}

// firing returns the minutes of a history at which an expression has a value. Histories begin with
// the year 2026.
func firing(t *testing.T, address, expression string, minutes int) []int {
	t.Helper()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	response, err := http.Get(address + "/api/v1/query_range?" + url.Values{
		"query": {expression}, "step": {"60"}, "start": {strconv.FormatInt(start, 10)},
		"end": {strconv.FormatInt(start+60*int64(minutes), 10)},
	}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Status string
		Data   struct {
			Result []struct{ Values [][2]any }
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %s", expression, text)
	}
	var list []int
	for _, series := range answer.Data.Result {
		for _, value := range series.Values {
			list = append(list, int(value[0].(float64)-float64(start))/60)
		}
	}
	return list
}
