package asked

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/scenarios"
)

// Each hour, or other part of a period, has the highest load of its time: of waves and of phases,
// of a day, of a week, or of both. The highest of all is the load of the plan.
func TestHoursHaveTheirHighestLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.SampledFrom([]float64{0.5, 1, 7}).Draw(t, "days")
		minutes := rapid.SampledFrom([]float64{10, 60, 240}).Draw(t, "minutes")
		p := &Plan{Horizon: &Horizon{Start: scenarios.Span(minutes) * hour / 60}}
		var shares []func(at float64) float64 // by the time in hours
		draw := func(days float64) (r scenarios.Rate) {
			if rapid.Bool().Draw(t, "wave") {
				swing := rapid.Float64Range(0, 1).Draw(t, "swing")
				peak := rapid.Float64Range(0, 60).Draw(t, "peak")
				shares = append(shares, func(at float64) float64 {
					return (1 + swing*math.Cos(2*math.Pi*(at-peak)/24/days)) / (1 + swing)
				})
				return scenarios.Rate{Pattern: "wave", Average: 3, Swing: swing,
					Period: scenarios.Span(days * float64(Day)),
					Peak:   scenarios.Span(peak * float64(hour))}
			}
			r = scenarios.Rate{Pattern: "phases", Repeat: true}
			left, top := days*24, 0.0
			var begins, lengths, from, to []float64
			for left > 0 {
				long := min(left, float64(rapid.IntRange(1, 90).Draw(t, "long")))
				a := rapid.Float64Range(0.1, 9).Draw(t, "from")
				b := rapid.Float64Range(0.1, 9).Draw(t, "to")
				begins, lengths = append(begins, days*24-left), append(lengths, long)
				from, to = append(from, a), append(to, b)
				end := scenarios.PerSecond(b)
				r.Phases = append(r.Phases, scenarios.Phase{Rate: scenarios.PerSecond(a),
					To: &end, For: scenarios.Span(long) * hour})
				left -= long
				top = max(top, a, b)
			}
			shares = append(shares, func(at float64) float64 {
				i, at := 0, math.Mod(at, days*24)
				for i+1 < len(begins) && begins[i+1] <= at {
					i++
				}
				return (from[i] + (at-begins[i])/lengths[i]*(to[i]-from[i])) / top
			})
			return r
		}
		if rapid.Bool().Draw(t, "of classes") {
			p.Workload.Classes = []scenarios.Class{{Rate: draw(days)}, {Rate: draw(0.5)}}
		} else {
			p.Workload.Rate = draw(days)
		}
		hours, highest := p.Hours(), 0.0
		if n := int(math.Round(days * 24 * 60 / minutes)); len(hours) != n {
			t.Fatalf("%d parts of %g days, want %d", len(hours), days, n)
		}
		const samples = 200
		for i, got := range hours {
			want := 0.0
			for k := range samples {
				at := (float64(i) + float64(k)/samples) * minutes / 60
				for _, share := range shares {
					want = max(want, share(at))
				}
			}
			// Between two samples a load changes by at most their distance times its steepness.
			if got < want-1e-9 || got > want+10*minutes/60/samples*9 {
				t.Fatalf("part %d has %g of the highest load, want %g", i, got, want)
			}
			highest = max(highest, got)
		}
		if math.Abs(highest-1) > 1e-9 {
			t.Fatalf("at most %g of the highest load", highest)
		}
	})
}

// A load that changes within a day, and is paid as its highest all the same, is told.
func TestHoursThatAreNotCountedAreTold(t *testing.T) {
	week := "{pattern: phases, repeat: true, phases: [{rate: 9/s, for: 120h}, " +
		"{rate: 1/s, for: 48h}]}"
	for load, told := range map[string]bool{
		"rate: 9/s": false, "rate: " + week: false,
		"rate: {pattern: wave, average: 9/s, swing: 0.5}":                    false,
		"rate: {pattern: wave, average: 9/s, swing: 0.5, period: 8h}":        true,
		"rate: " + strings.Replace(week, "120h", "60s", 1):                   false,
		"rate: " + strings.ReplaceAll(week, "h}", "s}"):                      true,
		"classes: [{name: a, rate: 1/s}, {name: b, rate: " + week + "}]":     true,
		"rate: {pattern: bursts, high: 9/s, low: 1/s, for: 60s, pause: 60s}": true,
	} {
		text := "model: llama-3.1-8b\nworkload: {" + load + "}\nslo: {ttft: 1s}\n" +
			"menu: {hardware: [h100-sxm]}\n"
		for keys, want := range map[string]bool{"horizon={months: 9}": told, "seed=1": false} {
			f, err := Parse("p.yaml", []byte(text), keys)
			if err != nil {
				t.Fatal(err)
			}
			words := strings.Join(f.Plan.Warnings(), " ")
			if strings.Contains(words, "paid as the busiest") != want {
				t.Errorf("%s, %s: %q", load, keys, words)
			}
		}
	}
}

// Phases that repeat after an hour or more are planned at their highest rate, wherever that is, and
// shorter ones, and ones that end, as they come.
func TestLongPhasesAreSteady(t *testing.T) {
	phases := func(repeat bool, each scenarios.Span) *Plan {
		p := &Plan{}
		p.Workload.Rate = scenarios.Rate{Pattern: "phases", Repeat: repeat,
			Phases: []scenarios.Phase{{Rate: 1, For: 2 * each}, {Rate: 9, For: each}}}
		return p
	}
	p := phases(true, hour/3)
	if !p.Steady() || p.Peak() != 9 || math.Abs(p.Mean()-11.0/3) > 1e-12 {
		t.Errorf("steady %v, at most %g, %g in the long run", p.Steady(), p.Peak(), p.Mean())
	}
	if put := p.Put(p.Workload, 18, 5); put.Rate.Value != 18 || put.Rate.Phases != nil {
		t.Errorf("put at 18/s: %+v", put.Rate)
	}
	ends := phases(true, hour)
	ends.Workload.Duration = Day
	for _, p := range []*Plan{phases(true, hour/3-1), phases(false, hour), ends} {
		if p.Steady() {
			t.Errorf("steady: %+v", p.Workload)
		}
	}
}

// Prices by hour are written as they are read, whatever they are.
func TestPricesByHourAreWrittenAsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b, again ByHour
		for h := range b {
			b[h] = float64(rapid.IntRange(0, 3).Draw(t, "price")) / 2
		}
		if b == (ByHour{}) {
			return
		}
		if err := again.UnmarshalText([]byte(b.String())); err != nil || again != b {
			t.Fatalf("%v is written %q, and read as %v (%v)", b, b, again, err)
		}
	})
}
