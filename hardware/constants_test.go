package hardware

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/testkit"
)

func checkFit(t *testing.T, name string, f Fit) {
	t.Helper()
	if len(f.Source) < 20 {
		t.Errorf("%s has no source", name)
	}
	if _, err := time.Parse(time.DateOnly, f.Date); err != nil {
		t.Errorf("%s: date %q", name, f.Date)
	}
	if f.Rows < 0 || f.Error < 0 || f.Error > 1 {
		t.Errorf("%s: fitted to %d rows with error %g", name, f.Rows, f.Error)
	}
}

// A fraction is of what a data sheet states: more would beat the hardware.
func checkFraction(t *testing.T, name string, v float64) {
	t.Helper()
	if !(v > 0 && v <= 1) {
		t.Errorf("%s is %g, want a fraction above 0 and up to 1", name, v)
	}
}

func checkTime(t *testing.T, name string, v Seconds) {
	t.Helper()
	if !(v >= 0 && v < 1e-3) {
		t.Errorf("%s is %g s, want less than a millisecond", name, v)
	}
}

func TestConstantsAreSourcedAndPossible(t *testing.T) {
	catalog := load(t)
	for _, c := range AllConstants() {
		n := c.Accelerator
		if a, err := catalog.Accelerator(n); err != nil || a.Name != n {
			t.Errorf("constants of %q, which the catalogue calls %q: %v", n, a.Name, err)
		}
		checkFit(t, n, c.Fit)
		for d, v := range c.Linear.Compute {
			checkFraction(t, n+" linear compute "+string(d), v)
		}
		for d, v := range c.Experts.Compute {
			checkFraction(t, n+" experts compute "+string(d), v)
		}
		if c.Linear.Compute[BF16] == 0 || c.Experts.Compute[BF16] == 0 {
			t.Errorf("%s has no compute efficiency for 16 bits, which stands in for others", n)
		}
		for name, v := range map[string]float64{
			"linear memory": c.Linear.Memory, "elementwise memory": c.Elementwise.Memory,
			"experts memory": c.Experts.Memory,
			"decode memory":  c.Attention.DecodeMemory, "decode compute": c.Attention.DecodeCompute,
			"latent compute":  c.Attention.LatentCompute,
			"prefill compute": c.Attention.PrefillCompute,
			"prefill memory":  c.Attention.PrefillMemory,
		} {
			checkFraction(t, n+" "+name, v)
		}
		for name, v := range map[string]Seconds{
			"linear kernel": c.Linear.Kernel, "elementwise kernel": c.Elementwise.Kernel,
			"experts kernel": c.Experts.Kernel,
			"decode kernel":  c.Attention.DecodeKernel, "prefill kernel": c.Attention.PrefillKernel,
			"head kernel": c.Head.Kernel,
		} {
			checkTime(t, n+" "+name, v)
		}
		if c.Linear.Overlap < 1 || c.Linear.Tile < 1 || c.Host < 0.5 || c.Host > 3 ||
			c.Head.Passes < 1 || c.Attention.PrefillTail < 0 {
			t.Errorf("%s: out of range: %+v", n, c)
		}
	}
	for _, c := range AllCollectives() {
		if l, err := catalog.Link(c.Link); err != nil || l.Name != c.Link {
			t.Errorf("constants of the link %q, which the catalogue calls %q: %v", c.Link, l.Name,
				err)
		}
		checkFit(t, c.Link, c.Fit)
		for name, r := range map[string]AllReduce{"one-shot": c.OneShot, "two-shot": c.TwoShot,
			"library": c.Library} {
			if name == "library" || r != (AllReduce{}) {
				checkFraction(t, c.Link+" "+name, r.Efficiency)
			}
			checkTime(t, c.Link+" "+name, r.Latency)
			checkTime(t, c.Link+" "+name, r.Rank)
		}
	}
}

// An accelerator that is like another has its constants, but for what its own file states; nothing
// is stated twice, and the share of the bandwidth that experts reach is stated beside the share of
// other weights, in units of which it is fitted.
func TestConstantsOfOneDieAreStatedOnce(t *testing.T) {
	byName := map[string]Constants{}
	for _, c := range AllConstants() {
		byName[c.Accelerator] = c
	}
	for name, c := range byName {
		stated := Stated(name)
		if stated.Like == "" {
			stated.Like = c.Like
			if !reflect.DeepEqual(stated, c) {
				t.Errorf("%s has not what its file states:\n%+v\n%+v", name, c, stated)
			}
			continue
		}
		like, measured := byName[stated.Like]
		like.Fit = c.Fit
		if !measured {
			t.Fatalf("%s is like %q, of which no constants are known", name, stated.Like)
		}
		if (stated.Linear.Memory == 0) != (stated.Experts.Memory == 0) {
			t.Errorf("%s states the memory of one of products and experts alone", name)
		}
		var walk func(path string, stated, own, like reflect.Value)
		walk = func(path string, stated, own, like reflect.Value) {
			if own.Kind() == reflect.Struct {
				for i := range own.NumField() {
					walk(path+"."+own.Type().Field(i).Name, stated.Field(i), own.Field(i),
						like.Field(i))
				}
			} else if want := like; !stated.IsZero() {
				if own.Kind() != reflect.Map && !stated.Equal(own) {
					t.Errorf("%s%s is %v, its file states %v", name, path, own, stated)
				}
			} else if !reflect.DeepEqual(own.Interface(), want.Interface()) {
				t.Errorf("%s%s is %v, of %s %v", name, path, own, c.Like, want)
			}
		}
		walk("", reflect.ValueOf(stated), reflect.ValueOf(c), reflect.ValueOf(like))
	}
	if h200 := byName["h200-sxm"]; h200.Linear.Kernel != byName["h100-sxm"].Linear.Kernel ||
		h200.Attention.DecodeKernel != byName["h100-sxm"].Attention.DecodeKernel {
		t.Error("kernels of one die take two times")
	}
}

// NVIDIA's cards on PCI Express reach each other, but for GeForce and cards of virtual machines. Of
// two ways over equal lanes, sums take the longer on the worse host, the more so in larger groups;
// in pairs, nothing is in the way.
func TestPCIExpressGoesByCardAndHost(t *testing.T) {
	catalog := load(t)
	for _, a := range catalog.Accelerators {
		l, err := catalog.Link(a.ScaleUp)
		if err != nil || !strings.HasPrefix(l.Name, "pcie") || a.Kind != "gpu" {
			continue
		}
		want := "peer"
		if strings.Contains(a.Title, "GeForce") || strings.Contains(a.Title, "AWS") ||
			!strings.Contains(a.Title, "NVIDIA") {
			want = "host"
		}
		if l.Reach != want {
			t.Errorf("%s reach each other by %q, want %q", a.Title, l.Reach, want)
		}
	}
	for _, lanes := range []string{"pcie4-x16", "pcie5-x16"} {
		before := 1.0
		for _, ranks := range []int{2, 4, 8} {
			var times []float64
			for _, reach := range []string{"-p2p", "", "-contended"} {
				l := mustLink(t, catalog, lanes+reach)
				c := NearestCollective(&l, false, AllCollectives())
				if c.Link != l.Name {
					t.Errorf("%s has the constants of %s", l.Name, c.Link)
				}
				wire := 16e6 / l.Bandwidth
				times = append(times, c.Library.Seconds(ranks, wire))
			}
			worse := times[2] / times[0]
			if ranks > 2 && !(times[0] < times[1] && times[1] < times[2] && worse > before) {
				t.Errorf("%s, %d GPUs: %v s", lanes, ranks, times)
			}
			before = worse
		}
	}
}

func TestErrorBandsAreSourced(t *testing.T) {
	r := carries()
	checkFit(t, "relatives", Fit{Source: r.Source, Date: r.Date})
	h := Hosts()
	checkFit(t, "hosts", Fit{Source: h.Source, Date: h.Date, Rows: h.Machines})
	if !(h.Deviation > 0 && h.Deviation < 1) {
		t.Errorf("hosts spread by %g", h.Deviation)
	}
	if !(0 < r.SameGeneration && r.SameGeneration <= r.OtherGeneration &&
		r.OtherGeneration <= r.OtherMaker && r.OtherMaker < 1) {
		t.Errorf("%+v", r)
	}
}

func TestEveryAcceleratorHasConstants(t *testing.T) {
	catalog := load(t)
	network := mustLink(t, catalog, "infiniband-ndr")
	for _, a := range catalog.Accelerators {
		link := mustLink(t, catalog, "nvlink4")
		c, warnings := FittedConstants(&a, &link, &network)
		all := strings.Join(warnings, "\n")
		if measured := c.Accelerator == a.Name; measured == strings.Contains(all,
			"has no constants of its own") {
			t.Errorf("%s has the constants of %s, and warns %q", a.Name, c.Accelerator, all)
		}
		if c.ScaleUp.Link != "nvlink4" || !c.Network.Across {
			t.Errorf("%s: links of %s and %s", a.Name, c.ScaleUp.Link, c.Network.Link)
		}
	}
}

// A link that has the figures of another is warned of, by its name, and no other link is. Nothing
// crosses a loopback.
func TestBorrowedFiguresOfLinksAreWarnedOf(t *testing.T) {
	catalog := load(t)
	a, err := catalog.Accelerator("h100-sxm")
	testkit.OK(t, err)
	for _, l := range catalog.Links {
		inside, warnedInside := FittedConstants(&a, &l, nil)
		across, warnedAcross := FittedConstants(&a, nil, &l)
		for _, use := range []struct {
			of       string
			warnings []string
		}{{inside.ScaleUp.Link, warnedInside}, {across.Network.Link, warnedAcross}} {
			want := use.of != l.Name && l.Name != "loopback"
			got := len(use.warnings) == 1 && strings.Contains(use.warnings[0], "link "+l.Name+" ")
			if got != want || len(use.warnings) > 1 {
				t.Errorf("%s has the figures of %s, and warns %q", l.Name, use.of, use.warnings)
			}
		}
	}
}

func TestRelativesAreOfTheSameGeneration(t *testing.T) {
	catalog := load(t)
	for name, want := range map[string]string{"h100-pcie": "h100-sxm",
		"a100-80gb-pcie": "a100-80gb-sxm", "l4": "l40s", "a10g": "a40", "h200-sxm": "h200-sxm"} {
		a, err := catalog.Accelerator(name)
		testkit.OK(t, err)
		if c, _ := FittedConstants(&a, nil, nil); c.Accelerator != want {
			t.Errorf("%s takes the constants of %s, want %s", name, c.Accelerator, want)
		}
	}
}

func TestAllReduceServesItsGroups(t *testing.T) {
	r := AllReduce{Latency: 2e-6, Rank: 1e-6, Efficiency: 0.5, Ranks: 4, Contention: 1}
	if got := r.Seconds(4, 1e-3); math.Abs(got-(4e-6+4e-3)) > 1e-12 {
		t.Errorf("%g s", got)
	}
	anyGroup := r
	anyGroup.Ranks = 0
	if got := anyGroup.Seconds(8, 1e-3); math.Abs(got-(8e-6+8e-3)) > 1e-12 {
		t.Errorf("%g s for eight ranks without a largest group", got)
	}
	if !math.IsInf(r.Seconds(8, 1e-3), 1) || !math.IsInf((&AllReduce{}).Seconds(2, 0), 1) {
		t.Error("serves a group that it cannot")
	}
}

func TestKernelsAreSourcedAndPossible(t *testing.T) {
	catalog := load(t)
	for _, k := range AllKernels() {
		if own := k.On(k.Accelerator); own == nil || own.Source != k.Source {
			t.Errorf("the path of a file is not that of %s on %s", k.Engine, k.Accelerator)
		}
		n := k.Engine + " on " + k.Accelerator
		if a, err := catalog.Accelerator(k.Accelerator); err != nil || a.Name != k.Accelerator {
			t.Errorf("%s: the catalogue has %q: %v", n, a.Name, err)
		}
		checkFit(t, n, Fit{Source: k.Source, Date: k.Date})
		if _, ok := k.Products[BF16]; !ok {
			t.Errorf("%s: no products of 16 bits, beside which others count", n)
		}
		check := func(what string, fractions map[string]float64, kernel Seconds, fit KernelFit) {
			for name, v := range fractions {
				checkFraction(t, n+": "+what+" "+name, v)
			}
			checkTime(t, n+": "+what, kernel)
			if fit.Rows < 100 || fit.Error <= 0 || fit.Error > 0.3 || fit.LeftOut > 0.3 {
				t.Errorf("%s: %s was fitted to %d kernels with an error of %g, %g left out", n,
					what, fit.Rows, fit.Error, fit.LeftOut)
			}
		}
		for d, p := range k.Products {
			check("products in "+string(d),
				map[string]float64{"compute": p.Compute, "memory": p.Memory}, p.Kernel, p.Fit)
		}
		for d, backends := range k.Experts {
			for name, e := range backends {
				check(fmt.Sprintf("experts in %s by %s", d, name),
					map[string]float64{"compute": e.Compute, "memory": e.Memory}, e.Kernel, e.Fit)
				if e.Width < 0 || e.Tile < 1 || e.Passes < 0 || e.Name == "" {
					t.Errorf("%s: experts in %s by %s: %+v", n, d, name, e)
				}
			}
		}
	}
}

// Cards of one die differ in what reads memory alone: their products and experts compute the same
// share of the data sheet's rate, in the same fixed time.
func TestMeasuredKernelsOfOneDieTakeOneTime(t *testing.T) {
	compared := 0
	for _, k := range AllKernels() {
		name := map[string]string{"h200-sxm": "h100-sxm", "gb200": "b200-sxm",
			"gb300": "b300-sxm"}[k.Accelerator]
		first := k.On(name)
		if first == nil {
			continue
		}
		compared++
		for d, p := range k.Products {
			if q := first.Products[d]; p.Compute != q.Compute || p.Kernel != q.Kernel {
				t.Errorf("%s, %s: products of %s are %+v, and %+v of %s", k.Engine, d,
					k.Accelerator, p, q, name)
			}
		}
		for d, backends := range k.Experts {
			for b, p := range backends {
				q := first.Experts[d][b]
				if p.Compute != q.Compute || p.Width != q.Width || p.Kernel != q.Kernel ||
					p.Tile != q.Tile {
					t.Errorf("%s, %s by %s: experts of %s are %+v, and %+v of %s", k.Engine, d, b,
						k.Accelerator, p, q, name)
				}
			}
		}
	}
	if compared != 9 {
		t.Errorf("%d engines on cards of another one's die, want 9", compared)
	}
}

// An accelerator takes the efficiencies of its own maker's, and a warning says so where it cannot:
// MI325X those of MI300X, and a TPU those of another maker.
func TestRelativesAreOfTheSameMaker(t *testing.T) {
	c, err := Load()
	testkit.OK(t, err)
	for name, want := range map[string]string{
		"mi325x":  "mi325x has no constants of its own: efficiencies are those of mi300x",
		"tpu-v6e": "tpu-v6e has no constants of its own, nor has another accelerator of its maker",
		"gb200":   "gb200 has no constants of its own: efficiencies are those of b200-sxm",
	} {
		a, err := c.Accelerator(name)
		testkit.OK(t, err)
		_, warnings := FittedConstants(&a, nil, nil)
		if len(warnings) != 1 || !strings.Contains(warnings[0], want) {
			t.Errorf("%s: found %q, want %q", name, warnings, want)
		}
	}
	known := carries()
	for _, a := range c.Accelerators {
		if a.Kind != "cpu" && known.maker(a.Generation) == "" {
			t.Errorf("fitted/relatives.yaml has no maker of the generation %s of %s", a.Generation,
				a.Name)
		}
	}
}
