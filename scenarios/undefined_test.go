package scenarios

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// Where no request is answered, a result has no latencies and no price of a token, rather than
// zeros.
func TestWhatNoRequestHasIsAbsent(t *testing.T) {
	file, err := Parse("none.yaml", []byte("model: gpt2\nhardware: h100-sxm\n"+
		"workload: {rate: 10/s, requests: 20, patience: 1us}\n"))
	testkit.OK(t, err)
	s, err := file.Build(policies.Default())
	testkit.OK(t, err)
	r, err := s.Run(context.Background())
	testkit.OK(t, err)
	text, err := json.Marshal(r)
	testkit.OK(t, err)
	var keys map[string]any
	testkit.OK(t, json.Unmarshal(text, &keys))
	if r.Cancelled != 20 || keys["cost"] == nil {
		t.Fatalf("%d cancelled, cost %v", r.Cancelled, keys["cost"])
	}
	for key, value := range keys {
		if strings.HasSuffix(key, "_ms") || strings.Contains(key, "per_million") {
			t.Errorf("%s is %v", key, value)
		}
	}
}
