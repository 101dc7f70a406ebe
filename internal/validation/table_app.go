package validation

import (
	"cmp"
)

// Nightly runs of InferenceX as its web application has them (SemiAnalysisAI/InferenceX-app): the
// loads of silicon_2026, with medians of every run. Most runs have no mean.
func appRow(_ *catalogs, r *row, t *trial) string {
	t.version = cmp.Or(release.FindString(r.text("image")),
		nightlyRelease(t.Engine.Preset, r.text("date")))
	p := &t.Parallelism
	if p.Expert = r.count("ep|=1"); p.Expert == 1 {
		p.Expert = 0
	}
	if r.err != nil {
		return ""
	}
	if r.text("dp_attention") == "1" {
		p.Data, p.Tensor, p.Expert = p.Tensor, 1, 0
	}
	t.least = drawnLength
	t.publicFlags(r.text("image"), r.text("date")[:min(7, len(r.text("date")))])
	if !t.wideCache(r.text("image"), true) {
		t.narrowCache()
	}
	t.closed()
	if r.text("spec_method") != "none" {
		if !t.draft(nightlyDrafts(t.Engine.Preset, p.Data > 1), acceptanceOf(t.output)) {
			return "multi-token prediction was on, and the drafts of its model are not known"
		}
		// as flags of silicon_2026's servers with drafts have it
		delete(t.Batching.Params, "wait-steps")
		t.measuredWithDrafts()
	}
	return ""
}
