package validation

import "testing"

// TestNightlyRelease takes the release that ran on a date, or in a month of which no day is known.
func TestNightlyRelease(t *testing.T) {
	for _, c := range []struct{ engine, date, want string }{
		{"sglang", "2025-10-06", "0.5.5"},
		{"sglang", "2025-12", "0.5.6"},
		{"sglang", "2025-12-18", "0.5.6"},
		{"sglang", "2025-12-19", "0.5.7"},
		{"sglang", "2026-03", "0.5.9"},
		{"sglang", "2026-06-11", "0.5.12"},
		{"trtllm", "2025-12-31", "1.1.0"},
		{"trtllm", "2026-01-01", "1.2.0"},
		{"vllm-v1", "2026-01-01", ""},
	} {
		if got := nightlyRelease(c.engine, c.date); got != c.want {
			t.Errorf("%s on %s: %q, want %q", c.engine, c.date, got, c.want)
		}
	}
}

// TestDynamoIsNotTensorRTLLM takes the release of the month for a row that has Dynamo's.
func TestDynamoIsNotTensorRTLLM(t *testing.T) {
	for _, c := range []struct{ engine, version, want string }{
		{"trtllm", "0.8.1", "1.2.0"}, {"trtllm", "1.1.0", "1.1.0"}, {"trtllm", "", "1.2.0"},
		{"sglang", "0.5.6", "0.5.6"},
	} {
		d := deployment{version: c.version}
		d.Engine.Preset = c.engine
		d.nightlyVersion("2026-02")
		if d.version != c.want {
			t.Errorf("%s %q is %q, want %q", c.engine, c.version, d.version, c.want)
		}
	}
}
