package validation

import (
	"fmt"
	"strings"
)

// SGLang's cookbook (sgl-project/sgl-cookbook): bench_serving of 26 models with the launch flags.
// Lengths are uniform from 1 to the limits isl and osl, or ShareGPT's.
var cookbookRows = rowSpec{
	describe: describeCookbook,
}

func describeCookbook(_ *catalogs, r *row, t *trial) string {
	requests := r.count("requests")
	if ranks := r.optionalCount("dp", 1); r.text("dp_attention") == "1" && ranks > 1 {
		t.Parallelism.Data, t.Parallelism.Tensor = ranks, max(1, t.Parallelism.Tensor/ranks)
	}
	if experts := r.optionalCount("ep", 1); experts > 1 && t.Parallelism.Data == 0 {
		t.Parallelism.Expert = experts
	}
	if !r.atMost("requests", requests, maxRequests) || r.err != nil {
		return ""
	}
	for flag := range strings.SplitSeq(r.text("other_flags"), ";") {
		share := &t.Memory.StaticShare
		if _, err := fmt.Sscanf(strings.TrimSpace(flag), "mem-fraction-static=%f",
			share); err == nil && (*share <= 0 || *share > 1) {
			r.fail(fmt.Errorf("other_flags: found %q, want a share of at most 1", flag))
		}
	}
	t.Workload = clients(t.count, int64(requests), 2*t.prompt, 2*t.output, 0)
	t.rehearsable = true
	t.Name = fmt.Sprintf("concurrency %d, mean %d in, %d out", t.count, t.prompt, t.output)
	if requests < 2*t.count+20 {
		t.drop(r, "TTFT of ten requests, the first ones of which warm the server up", "TTFT")
	}
	with := r.text("speculative")
	if with == "" && r.optional("accept_length", 0) > 1 {
		return "drafts were accepted, of a number that is not known"
	}
	if with != "" {
		drafted, length := draftedSteps(with), r.optional("accept_length", 0)
		if length <= 1 || !t.draft(drafted, acceptanceFor(drafted, length)) {
			return "multi-token prediction was on, and its acceptance is not known"
		}
		t.measuredWithDrafts()
	}
	return ""
}
