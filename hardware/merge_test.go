package hardware

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/testkit"
)

const ownCard = `
links:
  my-link: {title: Mine, bandwidth: 10GB/s, latency: 2us}
accelerators:
  my-card:
    aliases: [mine]
    kind: gpu
    memory: {value: 40GiB, source: "its driver"}
    bandwidth: 1.5TB/s
    peak: {bf16: 200TFLOPS}
    scale_up: my-link
    host_link: PCIE4
    network: ethernet-25g
`

func TestOwnEntry(t *testing.T) {
	c, err := load(t).With("own.yaml", []byte(ownCard))
	testkit.OK(t, err)
	got, err := c.Accelerator("MINE")
	testkit.OK(t, err)
	want := Accelerator{
		Name: "my-card", Aliases: []string{"mine"}, Title: "my-card", Kind: "gpu", Memory: 40 << 30,
		Bandwidth: 1.5e12,
		Peak:      map[DType]float64{BF16: 200e12}, ScaleUp: "my-link", HostLink: "pcie4-x16",
		Network: "ethernet-25g", PerNode: 1,
		Sources: map[string]string{"memory": "its driver", "bandwidth": "user",
			"peak.bf16": "user"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Naming a known entry, by an alias too, changes the figures that are given and no other.
func TestOverride(t *testing.T) {
	before := load(t)
	after, err := before.With("own.yaml",
		[]byte("accelerators: {h100: {peak: {fp8: 1.5PFLOPS}, price: {value: 1$/h, source: "+
			"ours}}}"))
	testkit.OK(t, err)
	want, _ := before.Accelerator("h100-sxm")
	want.Peak[FP8], want.Price = 1.5e15, 1
	want.Sources["peak.fp8"], want.Sources["price"] = "user", "ours"
	got, _ := after.Accelerator("h100-sxm")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(after.Accelerators) != len(before.Accelerators) {
		t.Errorf("%d accelerators became %d", len(before.Accelerators), len(after.Accelerators))
	}
}

func TestLike(t *testing.T) {
	before := load(t)
	after, err := before.With("own.yaml",
		[]byte("accelerators: {h100-fast: {like: h100, bandwidth: 6.7TB/s, source: what if}}"))
	testkit.OK(t, err)
	want, _ := before.Accelerator("h100-sxm")
	want.Name, want.Title, want.Aliases, want.Bandwidth = "h100-fast", "h100-fast", nil, 6.7e12
	want.Sources["bandwidth"] = "what if"
	got, _ := after.Accelerator("h100-fast")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(load(t), before); diff != "" {
		t.Errorf("With changed the catalogue that it was called on: %s", diff)
	}
}

// Constants of an entry take the place of the shipped ones, and belong to that entry alone.
func TestOwnConstants(t *testing.T) {
	c, err := load(t).With("own.yaml",
		[]byte("accelerators: {mine: {like: h100, constants: {fit: {date: 2026-01-02}, "+
			"linear: {compute: {bf16: 0.5}, memory: 0.25, kernel: 2us, overlap: 3}, head: "+
			"{passes: 7}}}}"))
	testkit.OK(t, err)
	mine, _ := c.Accelerator("mine")
	want := Roofline()
	want.Accelerator, want.Fit = "mine", Fit{Source: "user", Date: "2026-01-02"}
	want.Linear = Linear{Compute: map[DType]float64{BF16: 0.5}, Memory: 0.25, Kernel: 2e-6,
		Overlap: 3}
	want.Head.Passes = 7
	got, warnings := FittedConstants(&mine, nil, nil)
	if diff := cmp.Diff(want, got); diff != "" || len(warnings) > 0 {
		t.Errorf("warnings %q, constants (-want +got):\n%s", warnings, diff)
	}
	mine.Constants.Linear.Compute[BF16] = 1
	if again, _ := c.Accelerator("mine"); again.Constants.Linear.Compute[BF16] != 0.5 {
		t.Error("what a lookup returns is shared with the catalogue")
	}
}

// Each key of own constants sets its own figure, and a list takes the place of the one before.
func TestEachKeyOfOwnConstants(t *testing.T) {
	c, err := load(t).With("own.yaml", []byte(`accelerators: {mine: {like: h100, aliases: [x, y],
  constants: {fit: {source: ours, date: 2026-01-02, rows: 12, error: 0.03}, host: 1.5,
    linear: {compute: {bf16: 0.51, fp8: 0.52}, memory: 0.53, kernel: 1us, overlap: 2, tile: 3},
    elementwise: {kernel: 4us, memory: 0.54},
    attention: {decode_kernel: 5us, decode_memory: 0.55, decode_narrow: 0.56,
      decode_compute: 0.57, latent_compute: 0.58, prefill_kernel: 6us, prefill_compute: 0.59,
      prefill_memory: 0.60, prefill_tail: 7},
    head: {kernel: 8us, passes: 9}}}}`))
	testkit.OK(t, err)
	if c, err = c.With("again.yaml", []byte("accelerators: {mine: {aliases: [z]}}")); err != nil {
		t.Fatal(err)
	}
	mine, err := c.Accelerator("z")
	if err != nil || !slices.Equal(mine.Aliases, []string{"z"}) {
		t.Fatalf("aliases %v: %v", mine.Aliases, err)
	}
	got, want := *mine.Constants, Roofline()
	want.Fit = Fit{Source: "ours", Date: "2026-01-02", Rows: 12, Error: 0.03}
	want.Host = 1.5
	want.Linear.Compute = map[DType]float64{BF16: 0.51, FP8: 0.52}
	want.Linear.Memory, want.Linear.Kernel, want.Linear.Overlap = 0.53, 1e-6, 2
	want.Linear.Tile = 3
	want.Elementwise.Kernel, want.Elementwise.Memory = 4e-6, 0.54
	a := &want.Attention
	a.DecodeKernel, a.DecodeMemory, a.DecodeNarrow = 5e-6, 0.55, 0.56
	a.DecodeCompute, a.LatentCompute = 0.57, 0.58
	a.PrefillKernel, a.PrefillCompute, a.PrefillMemory, a.PrefillTail = 6e-6, 0.59, 0.6, 7
	want.Head.Kernel, want.Head.Passes = 8e-6, 9
	for format, share := range Roofline().Linear.Compute {
		if _, given := want.Linear.Compute[format]; !given {
			want.Linear.Compute[format] = share
		}
	}
	got.Accelerator, want.Accelerator = "", ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What a lookup returns is the caller's own.
func TestLookUpSharesNothing(t *testing.T) {
	c := load(t)
	a, _ := c.Accelerator("a100")
	a.Peak[BF16], a.Sources["memory"], a.Aliases[0] = 1, "changed", "changed"
	if diff := cmp.Diff(load(t), c); diff != "" {
		t.Error(diff)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for _, test := range []struct{ in, says string }{
		{"", "own.yaml: the file is empty"},
		{"links: {}\n---\nlinks: {}", "own.yaml:2: a second YAML document starts here"},
		{"links: {\n", "own.yaml:"},
		{"3", `own.yaml:1: found "3", want the keys links, hosts, accelerators`},
		{"acelerators: {}", `own.yaml:1: unknown key "acelerators"; did you mean accelerators?`},
		{"links: [a]", "own.yaml:1: links: found a list, want a table of names"},
		{"links:\n  a: 3", `own.yaml:2: links.a: found "3", want a table of keys`},
		{"links:\n  a: {bandwidth: 1GB/s}",
			"own.yaml:2: links.a: latency is missing; a new link needs bandwidth, latency, " +
				"or like:"},
		{"accelerators: {a100: {bandwith: 1TB/s}}",
			`own.yaml:1: accelerators.a100: unknown key "bandwith"; did you mean bandwidth?`},
		{"accelerators:\n  a100:\n    memory: 80",
			`own.yaml:3: accelerators.a100.memory: "80" has no unit; want an amount of bytes such as "80GiB"`},
		{"accelerators: {a100: {bandwidth: 80GB}}",
			"GB is a unit of an amount of bytes; want a byte rate"},
		{"accelerators: {a100: {memory: 0GB}}",
			`accelerators.a100.memory: found "0GB", want more than 0`},
		{"accelerators: {a100: {memory: 20000TB}}",
			`accelerators.a100.memory: found "20000TB", want at most 1 PB`},
		{"accelerators: {a100: {memory: -1GB}}", "at least 0"},
		{"accelerators: {a100: {memory: [1GB]}}", "found a list, want a figure"},
		{"accelerators: {a100: {memory: {value: 1GB, sorce: x}}}",
			`accelerators.a100.memory: unknown key "sorce"; did you mean source?`},
		{"accelerators: {a100: {sms: 10.5}}", `found "10.5", want a whole number from 1`},
		{"accelerators: {a100: {peak: {bf17: 1TFLOPS}}}",
			`accelerators.a100.peak: unknown key "bf17"; did you mean bf16`},
		{"accelerators: {a100: {kind: fpga}}", `found "fpga", want one of gpu, tpu, npu, cpu`},
		{"accelerators: {a100: {network: nvlink9}}",
			`accelerators.a100.network: unknown link "nvlink9"; did you mean nvlink`},
		{"accelerators: {a100: {like: h100}}", `there is accelerator "a100" already`},
		{"accelerators: {new: {like: h10o}}",
			`accelerators.new.like: unknown accelerator "h10o"; did you mean h100`},
		{"accelerators: {new: {like: h100, aliases: [a100]}}",
			`"a100" is already a name of accelerator "a100-80gb-sxm"`},
		{"accelerators: {new: {like: h100, title: \"\"}}",
			`accelerators.new.title: found "", want a text`},
		{"accelerators: {a100: {constants: {linear: {memry: 0.5}}}}",
			`accelerators.a100.constants.linear: unknown key "memry"; did you mean memory?`},
		{"accelerators: {a100: {constants: {linear: {memory: 1.5}}}}",
			"accelerators.a100.constants.linear.memory: "},
		{"accelerators: {a100: {constants: {linear: {compute: {fp33: 0.5}}}}}",
			`unknown key "fp33"; did you mean fp32`},
		{"accelerators: {a100: {constants: {head: {passes: -1}}}}",
			`found "-1", want a number of 0 or more`},
		{"links: {a: {bandwidth: 1GB/s, latency: 1us}, a: {}}",
			`own.yaml:1: key "a" is already on line 1`},
		{"links: &x {a: {bandwidth: 1GB/s, latency: 1us}}\nhosts: *x",
			"own.yaml:2: YAML anchors and aliases are not supported"},
	} {
		_, err := load(t).With("own.yaml", []byte(test.in))
		if err == nil {
			t.Errorf("%q: no error, want one saying %q", test.in, test.says)
		} else if !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q: error %q, want it to say %q", test.in, err, test.says)
		}
	}
}

// The program's own files have to say where each figure is from.
func TestOwnFilesNeedSources(t *testing.T) {
	f, err := parseFile("ours.yaml", "",
		[]byte("links: {a: {bandwidth: 1GB/s, latency: {value: 1us, source: x}}}"))
	testkit.OK(t, err)
	_, err = Catalog{}.with([]file{f})
	if err == nil || !strings.Contains(err.Error(),
		"ours.yaml:1: links.a.bandwidth: the figure has no source") {
		t.Errorf("got %v", err)
	}
}

// Whatever a file holds, it is refused or gives a catalogue whose figures are positive numbers with
// sources.
func FuzzWith(f *testing.F) {
	f.Add(ownCard)
	f.Add("accelerators: {h100: {peak: {fp8: 1.5PFLOPS}}}")
	f.Add("hosts: {a: {like: xeon, cores: 3}}")
	f.Add("? [a]\n: b")
	f.Add("links: &a\n  b: *a")
	base := load(f)
	f.Fuzz(func(t *testing.T, text string) {
		var c Catalog
		var err error
		testkit.Bounded(t, len(text), func() { c, err = base.With("own.yaml", []byte(text)) })
		if err != nil {
			return
		}
		for _, a := range c.Accelerators {
			checkFigures(t, a.Name, a.figures(), a.Sources)
		}
		for _, h := range c.Hosts {
			checkFigures(t, h.Name, h.figures(), h.Sources)
		}
	})
}
