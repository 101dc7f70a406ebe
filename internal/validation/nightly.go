package validation

import "strings"

// nightly are the releases that a nightly benchmark is taken to have started, where a run has no
// image. Runs with one name 0.5.6 of SGLang in December 2025, 0.5.9 in February and March and
// 0.5.12 from May on, 1.1.0 of TensorRT-LLM in December, 1.2.0 in January and 1.3.0 in May
// (SemiAnalysisAI/InferenceX-app, fixtures of benchmarks). The days between are own estimates: on
// 19 December 2025 the times on MI355X change, and no image says to which release.
var nightly = map[string][]struct{ date, release string }{
	"sglang": {{"", "0.5.5"}, {"2025-12", "0.5.6"}, {"2025-12-19", "0.5.7"},
		{"2026-01-15", "0.5.8"}, {"2026-02-15", "0.5.9"}, {"2026-05-15", "0.5.12"}},
	"trtllm": {{"", "1.1.0"}, {"2026-01", "1.2.0"}, {"2026-04", "1.3.0"}},
}

// nightlyRelease returns the release of an engine that ran on a date, such as 2025-12 or
// 2025-12-13; "" where that is not known.
func nightlyRelease(engine, date string) string {
	var release string
	for _, r := range nightly[engine] {
		if strings.Compare(date, r.date) >= 0 {
			release = r.release
		}
	}
	return release
}

// nightlyVersion sets the release of a server of the nightly benchmark in a month, where its row
// has none, or that of Dynamo, which serves TensorRT-LLM of about its time. No month changes
// nothing.
func (d *deployment) nightlyVersion(month string) {
	if month != "" && (d.version == "" ||
		d.engine == "trtllm" && strings.HasPrefix(d.version, "0.")) {
		d.version = nightlyRelease(d.engine, month)
	}
}
