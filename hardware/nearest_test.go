package hardware

import (
	"math"
	"reflect"
	"testing"
)

// A link has the constants of itself, or of the measured link of its scope, port and way between
// devices whose bandwidth is the most similar, as a ratio; one of another way only where no other
// of its port is measured, and one of the other port only where no other is measured.
func TestCollectivesOfTheNearestLink(t *testing.T) {
	links := dataSheets().Links
	var measured []Collective
	for i, l := range links {
		if i%2 == 0 { // half of the catalogue is taken to be measured
			measured = append(measured, Collective{Link: l.Name, Across: true})
			measured = append(measured, Collective{Link: l.Name})
		}
	}
	for i := range links {
		l := &links[i]
		for _, across := range []bool{true, false} {
			got := NearestCollective(l, across, measured)
			best := &links[indexOf(got.Link, links)]
			if got.Across != across {
				t.Fatalf("%s has constants of the other scope", l.Name)
			}
			apart := func(o *Link) float64 {
				return math.Abs(math.Log(o.Bandwidth / l.Bandwidth))
			}
			kind := func(o, l *Link) int {
				switch {
				case (o.Port == "node") != (l.Port == "node"):
					return 2
				case o.Reach != l.Reach:
					return 1
				}
				return 0
			}
			for _, c := range measured {
				if c.Across != across {
					continue
				}
				o := &links[indexOf(c.Link, links)]
				if o.Name == l.Name && best.Name != l.Name || kind(o, l) < kind(best, l) ||
					kind(o, l) == kind(best, l) && best.Name != l.Name &&
						apart(o) < apart(best)-1e-12 {
					t.Errorf("%s has the constants of %s, %s is nearer", l.Name, best.Name, o.Name)
				}
			}
		}
	}
}

// A machine on its roofline reaches all rates of its data sheet, and nothing else takes time.
func TestTheRooflineReachesAll(t *testing.T) {
	c := Roofline()
	for name, share := range map[string]float64{"host": c.Host, "products": c.Linear.Compute[BF16],
		"weights": c.Linear.Memory, "elementwise": c.Elementwise.Memory,
		"decode memory": c.Attention.DecodeMemory, "decode": c.Attention.DecodeCompute,
		"latent": c.Attention.LatentCompute, "prefill": c.Attention.PrefillCompute,
		"prefill memory": c.Attention.PrefillMemory, "experts": c.Experts.Compute[BF16],
		"weights of experts": c.Experts.Memory} {
		if share != 1 {
			t.Errorf("%s reach %g", name, share)
		}
	}
	if !math.IsInf(c.Linear.Overlap, 1) || c.Linear.Kernel != 0 || c.Head.Kernel != 0 ||
		c.Experts.Kernel != 0 || c.Elementwise.Kernel != 0 {
		t.Errorf("%+v", c)
	}
}

// Plain numbers are 0 or more, infinity among them, and counts whole from 1 on.
func TestNumbersOfFiles(t *testing.T) {
	for text, want := range map[string]float64{"0": 0, "0.5": 0.5, "inf": math.Inf(1)} {
		if got, err := number(text); err != nil || got != want {
			t.Errorf("%s is %g (%v)", text, got, err)
		}
	}
	for _, text := range []string{"-0.1", "nan", "", "1x"} {
		if _, err := number(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	for text, allowed := range map[string]bool{"1": true, "1000000000": true, "0": false,
		"1000000001": false, "1.5": false} {
		if _, err := wholeNumber(text); (err == nil) != allowed {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A card whose memory was not measured reaches a share of its bandwidth between the least and the
// most that measured cards reach, and the mean of its generation's and of all, which counts as one
// more; with one measured card, or one memory, it reaches that card's. All else is its nearest
// relative's.
func TestUnmeasuredMemoryReachesTheMeanShare(t *testing.T) {
	measured := AllConstants()
	for i := range dataSheets().Accelerators {
		a := &dataSheets().Accelerators[i]
		got, steps := NearestConstants(a, measured)
		var all, kin, n float64
		least, most := math.Inf(1), 0.0
		var relative Constants
		for _, c := range measured {
			all += c.Linear.Memory / float64(len(measured))
			least, most = min(least, c.Linear.Memory), max(most, c.Linear.Memory)
			if kinship(a, c.Accelerator).steps == 1 {
				kin, n = kin+c.Linear.Memory, n+1
			}
			if c.Accelerator == got.Accelerator {
				relative = c
			}
		}
		near := kinship(a, got.Accelerator)
		want := (kin + all) / (n + 1)
		if near.steps == 0 || near.steps == 1 && near.gap < sameMemory {
			want = relative.Linear.Memory
		}
		if steps != near.steps || math.Abs(got.Linear.Memory-want) > 1e-12 ||
			got.Linear.Memory < least || got.Linear.Memory > most {
			t.Errorf("%s, as %s: %g of its bandwidth, want %g", a.Name, got.Accelerator,
				got.Linear.Memory, want)
		}
		for _, share := range memoryShares() {
			*share(&relative) = *share(&got)
		}
		if !reflect.DeepEqual(got, relative) {
			t.Errorf("%s has\n%+v, want\n%+v", a.Name, got, relative)
		}
		if one, _ := NearestConstants(a, measured[:1]); !reflect.DeepEqual(one, measured[0]) {
			t.Errorf("%s beside one measured card has %+v", a.Name, one)
		}
	}
}
