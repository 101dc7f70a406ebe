package scenarios

import "testing"

// What the comments of shipped fleets say comes out.
func TestShippedFleetsShowWhatTheySay(t *testing.T) {
	ship := func(name string, overrides ...string) *Result {
		f, err := Load(name, overrides...)
		return run(t, build(t, f, err))
	}
	if least, turn := ship("mixed-gpus").Attainment.All,
		ship("mixed-gpus", "routing=round-robin").Attainment.All; least < 0.99 || turn > 0.7 {
		t.Errorf("unequal GPUs meet %.3f of the SLOs by the fewest requests, %.3f in turn", least,
			turn)
	}
	fair, first := ship("tenants").Tenants["shop"], ship("tenants",
		"batching.policy=vllm-v1").Tenants["shop"]
	if fair.Attainment.All < 0.97 || first.Attainment.All > 0.7 ||
		first.Cancelled < 50*fair.Cancelled {
		t.Errorf("a tenant beside a batch: %+v with fairness, %+v in order of arrival",
			fair.Attainment, first.Attainment)
	}
	day := ship("autoscaling")
	if m := day.Fleet.MeanReplicas; !day.SLOMet || m > 2 || m < 1 {
		t.Errorf("%.2f replicas through the day, SLO met: %v; want fewer than two, and true", m,
			day.SLOMet)
	}
	if late := ship("autoscaling", "fleet.pools.0.scaling.cold-start.boot=20m"); late.SLOMet {
		t.Error("the SLO is kept with cold starts of twenty minutes")
	}
	if most := ship("reasoning"); !most.SLOMet {
		t.Errorf("with a budget of 4,000 thinking tokens %+v", most.Attainment)
	}
	if more := ship("reasoning", "workload.sessions.thinking.budget=8000"); more.SLOMet {
		t.Error("the SLO is kept with a budget of 8,000 thinking tokens")
	}
	pages, apart := ship("page-questions"),
		ship("page-questions", "replicas=7", "fleet.encoders=1")
	if !pages.SLOMet || !apart.SLOMet || apart.P99TPOT >= pages.P99TPOT ||
		apart.P99TTFT <= pages.P99TTFT {
		t.Errorf("with encoders apart TPOT %.1f ms and TTFT %.0f ms, together %.1f and %.0f ms",
			apart.P99TPOT, apart.P99TTFT, pages.P99TPOT, pages.P99TTFT)
	}
	two := ship("two-models")
	if large, small := two.Pools[0], two.Pools[1]; !two.SLOMet ||
		large.Cost/float64(large.OutputTokens) < 2*small.Cost/float64(small.OutputTokens) {
		t.Errorf("a token of the large model costs $%g, of the small one $%g",
			large.Cost/float64(large.OutputTokens), small.Cost/float64(small.OutputTokens))
	}
}
