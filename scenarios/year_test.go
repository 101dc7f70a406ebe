package scenarios

import (
	"context"
	"math"
	"reflect"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// Requests that come once an hour for more than a year, and never meet, are served as the first one
// is: to the tick, since they arrive on whole ticks, whether the simulator leaps or steps.
func TestAYearOfTraffic(t *testing.T) {
	const requests = 10_000
	for _, maxLeap := range []int64{0, 1} {
		run := func(n string) *Result {
			file, err := Parse("year.yaml", []byte("model: gpt2\nhardware: h100-sxm\n"+
				"workload: {rate: 1/h, arrivals: constant, prompt: 100, output: 9}\n"),
				"workload.requests="+n)
			testkit.OK(t, err)
			s, err := file.Build(policies.Default())
			testkit.OK(t, err)
			s.config.MaxLeap = maxLeap
			r, err := s.Run(context.Background())
			testkit.OK(t, err)
			return r
		}
		first, year := run("1"), run("10000")
		if year.Completed != requests {
			t.Fatalf("%d requests completed", year.Completed)
		}
		a, b := first.Latencies, year.Latencies
		// Quantiles of gaps are exact for few spans, and else within 0.5 %.
		for _, p := range [][2]*float64{{&a.MedianITL, &b.MedianITL}, {&a.P90ITL, &b.P90ITL},
			{&a.P95ITL, &b.P95ITL}, {&a.P99ITL, &b.P99ITL}} {
			if math.Abs(*p[0] / *p[1] - 1) <= 0.005 {
				*p[0] = *p[1]
			}
		}
		if !reflect.DeepEqual(a, b) {
			t.Errorf("latencies of one request are %v, of a year of such requests %v", a, b)
		}
		for _, c := range []struct {
			name      string
			got, want float64
		}{
			{"duration", year.Duration, 3600*(requests-1) + first.Duration},
			{"busy time", year.Busy * year.Duration, requests * first.Busy * first.Duration},
			{"throughput", year.RequestThroughput, requests / year.Duration},
		} {
			if math.Abs(c.got/c.want-1) > 1e-12 {
				t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
			}
		}
	}
}
