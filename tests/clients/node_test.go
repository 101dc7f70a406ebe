package clients

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// node runs npm's or node's command in the folder of the Node clients.
func node(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skip("there is no " + name)
	}
	cmd := testkit.Command(t, name, arguments...)
	cmd.Dir = "node"
	out, err := cmd.Output()
	if err != nil {
		var words []byte
		if exit, ok := err.(*exec.ExitError); ok {
			words = exit.Stderr
		}
		t.Fatalf("%s %v: %v\n%s%s", name, arguments, err, out, words)
	}
	return string(out)
}

func TestNodeClient(t *testing.T) {
	node(t, "node", "openai.js", server(t, "--api-key", "secret"))
}

// TestAutocannon sends two seconds of requests on 50 connections: every one is answered.
func TestAutocannon(t *testing.T) {
	out := node(t, "npx", "autocannon", "--json", "-c", "50", "-d", "2", "-m", "POST", "-H",
		"Content-Type: application/json",
		"-b", `{"prompt":"Hello there","max_tokens":4}`, server(t, "--speed", "100")+
			"/v1/completions")
	var result struct {
		Requests struct{ Total int }
		Good     int `json:"2xx"`
		Bad      int `json:"non2xx"`
		Errors   int
		Timeouts int
	}
	if err := json.Unmarshal([]byte(out), &result); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if result.Good < 100 || result.Bad+result.Errors+result.Timeouts > 0 {
		t.Errorf("%+v", result)
	}
	t.Logf("%d requests answered in two seconds", result.Good)
}
