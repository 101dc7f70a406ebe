package fit

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models/steptime"
)

// A constant that is set is what is read, and no constant of that or another owner changes with it:
// neither in the copy nor in what was copied. Ratios change with either of their parts.
func TestConstantsAreSetAlone(t *testing.T) {
	shipped := newValues()
	for _, c := range hardware.AllConstants() {
		shipped.accelerators[c.Accelerator] = c
	}
	for _, e := range steptime.Engines() {
		shipped.engines[e.Name] = e
	}
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	for i := range catalog.Accelerators {
		if l, err := catalog.Link(catalog.Accelerators[i].ScaleUp); err == nil {
			c, _ := hardware.FittedConstants(&catalog.Accelerators[i], &l, nil)
			shipped.links[c.ScaleUp.Link] = c.ScaleUp
		}
	}
	list, err := parameters(shipped, nil)
	testkit.OK(t, err)
	scopes := map[scope]int{}
	before := make([]float64, len(list))
	for i := range list {
		scopes[list[i].scope]++
		before[i] = list[i].get(shipped)
	}
	if len(scopes) != 5 {
		t.Errorf("constants of %v", scopes)
	}
	for i := 0; i < len(list); i += 7 { // owners have some 30 each
		p, changed := &list[i], shipped.clone()
		want := 0.9 * before[i]
		if p.set(changed, want); math.Abs(p.get(changed)/want-1) > 1e-12 {
			t.Errorf("%s of %s is %g, was set to %g", p.name, p.owner, p.get(changed), want)
		}
		for j := range list {
			q := &list[j]
			if q.get(shipped) != before[j] || i != j && q.get(changed) != before[j] &&
				!strings.Contains(q.name+p.name, "/") {
				t.Errorf("%s of %s changes with %s of %s", q.name, q.owner, p.name, p.owner)
			}
		}
	}
}

// Each range has a width above zero, and no kernel is
// believed to read more than any reaches.
func TestConstantsHaveRanges(t *testing.T) {
	for _, c := range allConstants() {
		if !(c.Low > 0 && c.High > c.Low) {
			t.Errorf("%s %s: range %g to %g", c.Scope, c.Name, c.Low, c.High)
		}
		if !strings.Contains(c.Name, "/") && strings.HasSuffix(c.Name, "memory") &&
			c.High > steptime.MostBandwidth {
			t.Errorf("%s %s: up to %g of the bandwidth", c.Scope, c.Name, c.High)
		}
	}
}

// Accelerators of one die have one time of each kernel: H200 is H100 with another memory and host.
// A constant of H100 is its own and H200's, and moves both, but for what H200's file states; and
// every constant of an accelerator is of one parameter.
func TestADieHasOneKernelTime(t *testing.T) {
	shipped := newValues()
	for _, c := range hardware.AllConstants() {
		shipped.accelerators[c.Accelerator] = c
	}
	list, err := parameters(shipped, nil)
	testkit.OK(t, err)
	parts := map[string]map[string]int{}
	for i := range list {
		p := &list[i]
		if parts[p.name] == nil {
			parts[p.name] = map[string]int{}
		}
		for _, name := range p.owners {
			parts[p.name][name]++
		}
		if p.scope != accelerator || p.owner != reference {
			continue
		}
		free := p.name == "host" || strings.HasSuffix(p.name, "memory") &&
			p.name != "attention.prefill_memory"
		if slices.Contains(p.owners, "h200-sxm") == free {
			t.Errorf("%s of %v", p.name, p.owners)
		}
		changed := shipped.clone()
		p.set(changed, 1.1*p.get(shipped))
		c := constant{Name: p.name}
		h100, h200 := changed.accelerators[reference], changed.accelerators["h200-sxm"]
		if same := c.get(&h100) == c.get(&h200); same == free {
			t.Errorf("%s is %g on H100 and %g on H200", p.name, c.get(&h100), c.get(&h200))
		}
	}
	for _, c := range hardware.AllConstants() {
		for _, k := range constantsOf(accelerator, &c) {
			want := 1
			if k.get(&c) == 0 || k.Name == "host" && c.Accelerator == reference {
				want = 0
			}
			if n := parts[k.Name][c.Accelerator]; n != want {
				t.Errorf("%d parameters are %s of %s, want %d", n, k.Name, c.Accelerator, want)
			}
		}
	}
}

// A host that is in the way says nothing of the cards in other hosts: rows of such machines rest on
// the link's constants of these hosts, and others on the constants of the card's class. Links of a
// class share what does not go by lanes.
func TestHostsInTheWayAreMachinesOwn(t *testing.T) {
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	p := &problem{catalog: catalog, links: map[string]string{}}
	shipped := newValues()
	for _, c := range hardware.AllCollectives() {
		p.links[c.Link], shipped.links[c.Link] = c.Link, c
	}
	for _, at := range []struct{ table, gpu, want string }{
		{"nccl", "l40s", "pcie4-x16-contended"}, {"served", "l40s", "pcie4-x16-p2p"},
		{"served", "rtx-a6000", "pcie4-x16-p2p"}, {"served", "rtx-4090", "pcie4-x16"},
		{"vllm_requests", "rtx-pro-6000", "pcie5-x16-contended"},
		{"nccl", "rtx-pro-6000", "pcie5-x16-p2p"}, {"nccl", "h100-sxm", "nvlink4"},
	} {
		r := &row{table: at.table}
		r.GPU = at.gpu
		if got := p.linkOf(r); got != at.want {
			t.Errorf("%s of %s rests on %s, want %s", at.table, at.gpu, got, at.want)
		}
	}
	list, err := parameters(shipped, nil)
	testkit.OK(t, err)
	for i := range list {
		if q := &list[i]; q.name == "library.contention" &&
			(len(q.owners) != 2 || q.of != reach(q.owner)) {
			t.Errorf("contention of %v, class %q", q.owners, q.of)
		}
	}
}

// A machine's host is believed to be near the typical host of its accelerator, by as much as hosts
// of machines are from these; a typical host moves towards its machines, and stays between them and
// where it was believed to be. Machines at the typical host leave all as it is but the deviation,
// which is then the least.
func TestHostsOfMachinesSpreadAroundTheTypical(t *testing.T) {
	typical := &parameter{kind: kind{accelerator, "host"}, owner: "l40s", owners: []string{"l40s"},
		believed: 0.1, spread: 0.3, centre: 0.1, deviation: 0.3}
	host := func(owner string) parameter {
		return parameter{kind: kind{machine, "host"}, owner: owner, believed: 0.3, spread: 0.5}
	}
	p := &problem{accelerators: map[string]string{"l40s": "l40s", "l4": "l40s",
		"h100-sxm": reference}}
	pooledAt := func(x point) []parameter {
		p.parameters = []parameter{*typical, host("a/l40s"), host("b/l4"), host("c/h100-sxm")}
		p.poolHosts(x)
		return p.parameters
	}
	still := pooledAt(point{0.1, 0.1, 0.1, 0})
	if math.Abs(still[0].centre-0.1) > 1e-12 || math.Abs(p.hosts-0.25) > 1e-12 {
		t.Errorf("typical host %g, deviation %g", still[0].centre, p.hosts)
	}
	moved := pooledAt(point{0.1, 0.7, 0.5, 0.1})
	want := math.Sqrt((0.25 + 0.36 + 0.16 + 0.01) / 4)
	if math.Abs(p.hosts-want) > 1e-12 {
		t.Errorf("hosts spread by %g, want %g", p.hosts, want)
	}
	for i, centre := range []float64{0.1, 0.1, 0} {
		if q := moved[i+1]; q.centre != centre || q.deviation != p.hosts {
			t.Errorf("%s is believed at %g ± %g", q.owner, q.centre, q.deviation)
		}
	}
	if c := moved[0].centre; c <= 0.1 || c >= 0.6 || moved[0].deviation >= 0.3 {
		t.Errorf("typical host %g ± %g", c, moved[0].deviation)
	}
}

// The ratio of a table is of its worse way to leave out, is 1 where nothing is lost by it, and is
// told where it is large.
func TestLeftOutErrorsAreToldBesideFittedOnes(t *testing.T) {
	one, two, three := 1.0, 2.0, 3.0
	for want, e := range map[string]Error{
		"–":     {Fitted: 2},
		"1.00 ": {Fitted: 2, WithoutModel: &two, WithoutAccelerator: &one},
		"1.50*": {Fitted: 2, WithoutModel: &two, WithoutAccelerator: &three},
	} {
		e.Ratio = e.ratio()
		var b bytes.Buffer
		if e.write(&b); !strings.Contains(b.String(), want) {
			t.Errorf("found %q, want %q", b.String(), want)
		}
	}
}
