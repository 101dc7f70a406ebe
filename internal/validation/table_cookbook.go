package validation

import (
	"fmt"
)

// SGLang's cookbook (sgl-project/sgl-cookbook): bench_serving of 26 models with the launch flags.
// Lengths are uniform from 1 to the limits isl and osl, or ShareGPT's.
func cookbookRow(_ *catalogs, r *row, t *trial) string {
	requests := r.count("requests")
	if ranks := r.count("dp|=1"); r.text("dp_attention") == "1" && ranks > 1 {
		t.Parallelism.Data, t.Parallelism.Tensor = ranks, max(1, t.Parallelism.Tensor/ranks)
	}
	if experts := r.count("ep|=1"); experts > 1 && t.Parallelism.Data == 0 {
		t.Parallelism.Expert = experts
	}
	if !r.atMost("requests", requests, maxRequests) || r.err != nil {
		return ""
	}
	const flag = "mem-fraction-static"
	share, stated := parseStartFlags(r.text("other_flags")).number(flag)
	if t.Memory.StaticShare = share; stated && share > 1 {
		r.fail(fmt.Errorf("other_flags: found %s=%g, want a share of at most 1", flag, share))
	}
	t.Workload = clients(t.count, int64(requests), 2*t.prompt, 2*t.output, 0)
	t.rehearsable = true
	t.Name = fmt.Sprintf("concurrency %d, mean %d in, %d out", t.count, t.prompt, t.output)
	if requests < 2*t.count+20 {
		t.drop(r, "TTFT of ten requests, the first ones of which warm the server up", "TTFT")
	}
	with := r.text("speculative")
	if with == "" && r.number("accept_length|=0") > 1 {
		return "drafts were accepted, of a number that is not known"
	}
	if with != "" {
		drafted, length := draftedSteps(with), r.number("accept_length|=0")
		if length <= 1 || !t.draft(drafted, acceptanceFor(drafted, length)) {
			return "multi-token prediction was on, and its acceptance is not known"
		}
		t.measuredWithDrafts()
	}
	return ""
}
