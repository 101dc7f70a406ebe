package validation

import (
	"testing"

	"github.com/llmsim/llmsim/models"
)

// TestNightlyRelease takes the release that ran on a date, or in a month of which no day is known,
// for a row without a release, and for one that has Dynamo's.
func TestNightlyRelease(t *testing.T) {
	for _, c := range []struct{ engine, date, version, want string }{
		{"sglang", "2025-10-06", "", "0.5.5"},
		{"sglang", "2025-12", "", "0.5.6"},
		{"sglang", "2025-12-18", "", "0.5.6"},
		{"sglang", "2025-12-19", "", "0.5.7"},
		{"sglang", "2026-03", "", "0.5.9"},
		{"sglang", "2026-06-11", "", "0.5.12"},
		{"sglang", "2026-02", "0.5.6", "0.5.6"},
		{"trtllm", "2025-12-31", "", "1.1.0"},
		{"trtllm", "2026-01-01", "", "1.2.0"},
		{"trtllm", "2026-02", "0.8.1", "1.2.0"},
		{"trtllm", "2026-02", "1.1.0", "1.1.0"},
		{"vllm-v1", "2026-01-01", "", ""},
	} {
		r := &row{table: &table{kind: &kind{}}, known: map[string]string{"date": c.date}}
		d := deployment{version: c.version, model: &models.Architecture{Name: "gpt-j"}}
		d.Engine.Preset, d.accelerator.Name = c.engine, "a10"
		if r.nightly(&d); d.version != c.want || r.err != nil {
			t.Errorf("%s %q on %s: %q, want %q (%v)", c.engine, c.version, c.date, d.version,
				c.want, r.err)
		}
	}
}
