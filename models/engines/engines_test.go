package engines_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/models/steptime"
)

// Every preset of package steptime belongs to one engine of the registry, which says what scheduler
// and memory manager it has: a new preset cannot run with those of another engine in silence.
func TestEveryPresetHasItsOwnDefaults(t *testing.T) {
	owners := map[string]int{}
	for _, e := range engines.All() {
		for _, p := range e.Presets {
			owners[p.Name]++
			if _, err := steptime.FindEngine(p.Name); err != nil {
				t.Errorf("%s: %v", e.Name, err)
			}
		}
	}
	at := engines.Place{Accelerator: &hardware.Accelerator{Name: "any", Memory: 80 << 30}}
	for _, preset := range steptime.Engines() {
		if owners[preset.Name] != 1 {
			t.Errorf("the preset %s belongs to %d engines of models/engines/registry, want 1",
				preset.Name, owners[preset.Name])
			continue
		}
		r, err := engines.Find(preset.Name, "")
		if err != nil {
			t.Error(err)
		}
		for _, key := range []string{"batching.policy", "memory.policy"} {
			if s, ok := r.Setting(key, at); !ok || s.Value == "" {
				t.Errorf("the registry has no %s of the preset %s", key, preset.Name)
			}
		}
		if s, ok := r.Setting("scheduling", at); ok &&
			(s.Value == "asynchronous") != (preset.Lookahead > 0) {
			t.Errorf("%s is %s in the registry, and looks %d steps ahead", preset.Name, s.Value,
				preset.Lookahead)
		}
	}
}

// Every entry has a source, and a range that is not empty.
func TestEveryEntryHasASource(t *testing.T) {
	for _, e := range engines.All() {
		for _, s := range e.Settings {
			if s.Source == "" || (s.Value == "") == (s.Computed == "") {
				t.Errorf("%s: %s needs a source, and a value or a rule", e.Name, s.Key)
			}
		}
		for _, m := range e.Memory {
			if m.Source == "" || m.ContextGiB <= 0 || (m.LogitBytes <= 0) != (e.Name == "sglang") {
				t.Errorf("%s: memory %+v needs its sizes and a source", e.Name, m)
			}
		}
		for _, b := range e.Kernels {
			if b.Source == "" || b.Name == "" {
				t.Errorf("%s: the back end %+v needs a name and a source", e.Name, b)
			}
		}
		if !slices.IsSortedFunc(e.Evidence, func(a, b engines.Evidence) int {
			return a.Version.Compare(b.Version)
		}) {
			t.Errorf("%s: the versions of its evidence are not in order", e.Name)
		}
	}
}

func TestVersionsChooseThePreset(t *testing.T) {
	for _, c := range []struct{ name, version, preset, measured string }{
		{"vllm", "", "vllm-v1", "0.19.0"},
		{"vllm", "0.24", "vllm-v1", "0.23.0"},
		{"vllm", "v0.14.0", "vllm-v1", "0.14.0"},
		{"vllm", "0.12.0", "vllm-v1-sync", "0.12.0"},
		{"vllm", "0.8.5.post1", "vllm-v1-sync", "0.11.0"},
		{"vllm", "0.6.6", "vllm-v0", "0.6.6"},
		{"vllm-v0", "0.9.0", "vllm-v0", "0.9.0"},
		{"trtllm", "0.14", "trtllm-tensorrt", "0.14.0"},
		{"trtllm", "1.2.0rc6.post3", "trtllm", "1.2.0"},
		{"sglang", "0.5.11", "sglang", "0.5.10"},
	} {
		r, err := engines.Find(c.name, c.version)
		if err != nil {
			t.Errorf("%s %s: %v", c.name, c.version, err)
			continue
		}
		if r.Preset != c.preset || r.Measured.String() != c.measured {
			t.Errorf("%s %s has the constants of %s, measured with %s; want %s with %s", c.name,
				c.version, r.Preset, r.Measured, c.preset, c.measured)
		}
	}
}

func TestVersionsThatCannotBe(t *testing.T) {
	for _, c := range []struct{ name, version, want string }{
		{"vllm", "newest", `found version "newest"; want one such as 0.23`},
		{"vllm", "1..2", "want one such as"},
		{"vllm", "-1", "want one such as"},
		{"vllm-v1", "0.12", "the constants of that version are those of vllm-v1-sync"},
		{"llama.cpp", "1.0", "leave the version out"},
		{"vlm", "", "did you mean vllm"},
	} {
		if _, err := engines.Find(c.name, c.version); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: found %v, want %q", c.name, c.version, err, c.want)
		}
	}
}

func TestNotesSayHowFarAVersionIsFromEvidence(t *testing.T) {
	for version, want := range map[string]string{
		"0.24":   "newer than any that was measured: the nearest one",
		"0.0.9":  "older than any that was measured",
		"0.17.2": "was not measured: the nearest one whose constants are taken is 0.17.1",
		"0.19.0": "", "0.23": "", "": "",
	} {
		r, err := engines.Find("vllm", version)
		testkit.OK(t, err)
		if found := strings.Join(r.Notes(), "; "); (want == "") != (found == "") ||
			!strings.Contains(found, want) {
			t.Errorf("version %q: found %q, want %q", version, found, want)
		}
	}
}

// Versions are ordered as their numbers are, whatever text says about them.
func TestVersionOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.IntRange(0, 999)
		a := [3]int{number.Draw(t, "a"), number.Draw(t, "b"), number.Draw(t, "c")}
		b := [3]int{number.Draw(t, "d"), number.Draw(t, "e"), number.Draw(t, "f")}
		v, w := version(t, a), version(t, b)
		if want := slices.Compare(a[:], b[:]); v.Compare(w) != want {
			t.Fatalf("%s against %s: found %d, want %d", v, w, v.Compare(w), want)
		}
	})
}

func FuzzParseVersion(f *testing.F) {
	for _, text := range []string{"0.23", "v0.15.1", "0.5.12.post1", "1.2.0rc4", "", "..",
		"9999999"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if v, err := engines.ParseVersion(text); err == nil && v.Compare(v) != 0 {
			t.Errorf("%q is not itself", text)
		}
	})
}

// The limits of batches depend on version, accelerator and parallelism, as the engines' sources
// say.
func TestLimitsOfBatches(t *testing.T) {
	place := func(name string, gib float64) engines.Place {
		return engines.Place{Accelerator: &hardware.Accelerator{Name: name,
			Memory: gib * (1 << 30)}}
	}
	for _, c := range []struct {
		name, key string
		at        engines.Place
		want      int
	}{
		{"vllm", "batching.max-sequences", place("h100-sxm", 79.2), 1024},
		{"vllm", "batching.max-sequences", place("a100-80gb-sxm", 79.2), 256},
		{"vllm", "batching.token-budget", place("l40s", 44), 2048},
		{"vllm-v0", "batching.max-sequences", place("h100-sxm", 79.2), 256},
		{"sglang", "batching.chunk", place("b200-sxm", 178), 16384},
		{"sglang", "engine.graph", place("h100-sxm", 79.2), 256},
		{"trtllm", "batching.max-sequences", place("h100-sxm", 79.2), 2048},
	} {
		r, err := engines.Find(c.name, "")
		testkit.OK(t, err)
		if found := r.Count(c.key, c.at); found != c.want {
			t.Errorf("%s of %s on %s: found %d, want %d", c.key, c.name, c.at.Accelerator.Name,
				found, c.want)
		}
	}
	if found := engines.SGLangRunningLimit(1_000_000, 163_840); found != 3125 {
		t.Errorf("SGLang runs %d sequences together, want 3125", found)
	}
	if found := engines.SGLangStaticShare(81559*(1<<20), 8192, 256, 1, 1, 1); found != 0.835 {
		t.Errorf("SGLang's static share of an H100 is %g, want 0.835", found)
	}
}

// Each release has at most one back end of an operator, and exactly one of routed experts for each
// format that the engine has on a generation, which neither a further release nor a further tensor
// rank takes away; asked for by its name, it is the same one, and left out, it is another one or
// none. Of a measured version it is its own kin.
func TestEachReleaseHasOneBackEnd(t *testing.T) {
	generations := []string{"turing", "ampere", "ampere-rtx", "ada", "hopper", "blackwell",
		"blackwell-rtx", "cdna3", "cdna4"}
	formats := []hardware.DType{hardware.BF16, hardware.FP8, hardware.FP8Block, hardware.FP4,
		hardware.MXFP4, hardware.INT4}
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom([]string{"vllm", "sglang", "trtllm"}).Draw(t, "engine")
		r, err := engines.Find(e, "")
		testkit.OK(t, err)
		r.Version = version(t, [3]int{rapid.IntRange(0, 2).Draw(t, "major"),
			rapid.IntRange(0, 30).Draw(t, "minor"), rapid.IntRange(0, 12).Draw(t, "patch")})
		at := engines.Place{
			Accelerator: &hardware.Accelerator{
				Generation: rapid.SampledFrom(generations).Draw(t, "generation")},
			Tensor: rapid.IntRange(0, 16).Draw(t, "tensor"),
			Expert: rapid.SampledFrom([]int{0, 1, 8}).Draw(t, "expert"),
			Data:   rapid.SampledFrom([]int{0, 1, 8}).Draw(t, "data"),
			Model:  rapid.SampledFrom([]string{"deepseek-v3", "gpt-oss-20b"}).Draw(t, "model"),
			Attention: rapid.SampledFrom([]string{"heads", "latent", "sparse"}).Draw(t,
				"attention"),
		}
		format := rapid.SampledFrom(formats).Draw(t, "format")
		of := rapid.SampledFrom(engines.Operators()).Draw(t, "operator")
		b, ok := r.Backend(of, format, at, "")
		if !ok && of != engines.Experts {
			return
		}
		if !ok || b.Name == "" || b.Asked {
			t.Fatalf("%s %s has %+v for %s on %s", e, r.Version, b, format,
				at.Accelerator.Generation)
		}
		testkit.OK(t, r.CheckBackend(of, b.Name))
		if named, ok := r.Backend(of, format, at, b.Name); !ok ||
			named.Name != b.Name || named.Few != "" {
			t.Fatalf("asked for %s, found %+v", b.Name, named)
		}
		if other, ok := r.Backend(of, format, at, "no-"+b.Name); ok &&
			other.Name == b.Name {
			t.Fatalf("without %s, found %+v", b.Name, other)
		}
		if flag := r.BackendFlag(of, b.Name); engines.BackendName(flag) != b.Name {
			t.Fatalf("%s is written %s", b.Name, flag)
		}
		m := rapid.SampledFrom(r.Evidence).Draw(t, "measured")
		measured, err := engines.Find(e, m.Version.String())
		testkit.OK(t, err)
		own, _ := measured.Backend(of, format, at, "")
		if kin := measured.Kin(of, format, at, own.Name); m.Preset == measured.Preset &&
			kin != "" {
			t.Fatalf("%s %s was measured, and has the times of %s", e, m.Version, kin)
		}
	})
}

// The back ends of routed experts are those of kernel_backends.csv: in vLLM's experts of FP8 by
// block on Hopper, parallelism decides, and flags stand above the rule.
func TestBackEndsOfExperts(t *testing.T) {
	for _, c := range []struct {
		name, version  string
		format         hardware.DType
		generation     string
		tensor, expert int
		flags, want    string
	}{
		{"vllm", "0.10.2", hardware.FP8Block, "hopper", 8, 1, "", "triton"},
		{"vllm", "0.11.0", hardware.FP8Block, "hopper", 8, 1, "", "deepgemm"},
		{"vllm", "0.12", hardware.FP8Block, "hopper", 8, 1, "", "triton"},
		{"vllm", "0.14", hardware.FP8Block, "hopper", 4, 1, "", "deepgemm"},
		{"vllm", "0.14", hardware.FP8Block, "hopper", 4, 1, "VLLM_USE_DEEP_GEMM=0", "cutlass"},
		{"vllm", "0.15.1", hardware.FP8Block, "hopper", 8, 1, "", "flashinfer-cutlass"},
		{"vllm", "0.15.1", hardware.FP8Block, "hopper", 8, 8, "", "flashinfer-cutlass"},
		{"vllm", "0.19", hardware.FP8Block, "hopper", 8, 1, "", "triton"},
		{"vllm", "0.19", hardware.FP8Block, "hopper", 8, 8, "", "flashinfer-cutlass"},
		{"vllm", "0.19", hardware.FP8Block, "hopper", 8, 8, "VLLM_USE_FLASHINFER_MOE_FP8=0",
			"deepgemm"},
		{"vllm", "0.19", hardware.FP8Block, "blackwell", 4, 4, "", "flashinfer-trtllm"},
		{"vllm", "0.17", hardware.FP8Block, "blackwell", 4, 4,
			"VLLM_USE_FLASHINFER_MOE_FP8=0;VLLM_MOE_USE_DEEP_GEMM=0", "cutlass"},
		{"vllm", "0.18", hardware.MXFP4, "hopper", 4, 1, "VLLM_MXFP4_USE_MARLIN=1", "marlin"},
		{"vllm", "0.12", hardware.BF16, "hopper", 2, 1, "", "triton"},
		{"vllm", "0.19", hardware.FP4, "blackwell", 1, 1, "", "flashinfer-trtllm"},
		{"vllm", "0.19", hardware.INT4, "ampere", 1, 1, "", "marlin"},
		{"sglang", "0.5.9", hardware.FP8Block, "hopper", 8, 1, "", "triton"},
		{"sglang", "0.5.9", hardware.FP8Block, "blackwell", 8, 1, "", "flashinfer-trtllm"},
		{"sglang", "0.5.3", hardware.FP8Block, "blackwell", 8, 1, "", "triton"},
		{"sglang", "0.5.9", hardware.FP8Block, "cdna3", 8, 1, "", "aiter"},
		{"trtllm", "1.1", hardware.MXFP4, "blackwell", 8, 1, "", "cutlass"},
		{"trtllm", "1.2", hardware.MXFP4, "blackwell", 8, 1, "", "trtllm"},
	} {
		r, err := engines.Find(c.name, c.version)
		testkit.OK(t, err)
		given := map[string]string{}
		for flag := range strings.SplitSeq(c.flags, ";") {
			name, value, _ := strings.Cut(flag, "=")
			given[name] = value
		}
		at := engines.Place{Accelerator: &hardware.Accelerator{Generation: c.generation},
			Tensor: c.tensor, Expert: c.expert, Model: "deepseek-v3"}
		b, _ := r.Backend(engines.Experts, c.format, at, r.AskedBackend(engines.Experts, r.Version,
			given))
		if b.Name != c.want {
			t.Errorf("%s %s has %q for %s on %s, TP %d, EP %d, %s, want %s", c.name, c.version,
				b.Name, c.format, c.generation, c.tensor, c.expert, c.flags, c.want)
		}
	}
	r, err := engines.Find("vllm", "")
	testkit.OK(t, err)
	for asked, want := range map[string]string{"tritn": "triton", "no-deepgem,": "deepgemm"} {
		if err := r.CheckBackend(engines.Experts, asked); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", asked, err)
		}
	}
}

func version(t *rapid.T, n [3]int) engines.Version {
	v, err := engines.ParseVersion(fmt.Sprintf("%d.%d.%d", n[0], n[1], n[2]))
	testkit.OK(t, err)
	return v
}

// The table of docs/engines.md names every preset of each engine that it has a row for, and the
// versions that were measured: each of a list's versions and ends of ranges is one, and each one is
// in the list. Versions are compared as far as the page writes them.
func TestPageOfEngines(t *testing.T) {
	page := string(testkit.Read(t, "../../docs/engines.md"))
	for _, e := range engines.All() {
		if len(e.Evidence) < 2 {
			continue // shares a row
		}
		at := strings.Index(page, "\n| `"+e.Name+"` |")
		if at < 0 {
			t.Errorf("%s: found no row", e.Name)
			continue
		}
		row, _, _ := strings.Cut(page[at+1:], "\n")
		cells := strings.Split(row, "|")
		for _, p := range e.Presets {
			if !strings.Contains(cells[2], "`"+p.Name+"`") {
				t.Errorf("%s: the row lacks the preset %s: %s", e.Name, p.Name, cells[2])
			}
		}
		same := func(v engines.Version, text string) bool {
			return v.String() == text || strings.HasPrefix(v.String(), text+".")
		}
		measured := func(text string) engines.Version {
			i := slices.IndexFunc(e.Evidence, func(x engines.Evidence) bool {
				return same(x.Version, text)
			})
			if i < 0 {
				t.Errorf("%s: the page has %s, which was not measured", e.Name, text)
				return engines.Version{}
			}
			return e.Evidence[i].Version
		}
		listed := map[string]bool{}
		for item := range strings.SplitSeq(strings.TrimSpace(cells[3]), ", ") {
			first, last, _ := strings.Cut(item, " to ")
			from, to := measured(first), measured(cmp.Or(last, first))
			for _, x := range e.Evidence {
				if x.Version.Compare(from) >= 0 && x.Version.Compare(to) <= 0 {
					listed[x.Version.String()] = true
				}
			}
		}
		for _, x := range e.Evidence {
			if !listed[x.Version.String()] {
				t.Errorf("%s: the page lacks %s, which was measured", e.Name, x.Version)
			}
		}
	}
}

// Releases follow each other in time as their versions do, each has a source, and the time between
// two versions is the same both ways; a version between two releases counts as the older one.
func TestReleasesAreDated(t *testing.T) {
	for _, e := range engines.All() {
		for i, r := range e.Releases {
			at, known := engines.Month(e.Name, r.Version.String())
			if !known || r.Source == "" {
				t.Errorf("%s %s has no date or no source: %+v", e.Name, r.Version, r)
			}
			if i == 0 {
				continue
			}
			before, _ := engines.Month(e.Name, e.Releases[i-1].Version.String())
			if at < before || r.Version.Compare(e.Releases[i-1].Version) <= 0 {
				t.Errorf("%s %s comes before %s", e.Name, r.Version, e.Releases[i-1].Version)
			}
		}
		for i := range e.Evidence {
			v := e.Evidence[i].Version.String()
			if months, known := engines.MonthsToMeasured(e.Name, v); known && months != 0 {
				t.Errorf("%s %s was measured, and is %g months from what was", e.Name, v, months)
			}
		}
	}
	for version, same := range map[string]string{"0.15.2": "0.15.0", "0.99": "99"} {
		a, _ := engines.Month("vllm-v1", version)
		if b, known := engines.Month("vllm", same); !known || a != b {
			t.Errorf("vLLM %s is of month %g, %s of %g", version, a, same, b)
		}
	}
	if months, known := engines.MonthsToMeasured("vllm", "99"); !known || months < 3 {
		t.Errorf("a version of which nothing is known is %g months from what was measured", months)
	}
	if _, known := engines.Month("llama.cpp", "1.0"); known {
		t.Error("a release of llama.cpp is dated")
	}
	// December 2025 to January 2026 is a month, and half a month is a half.
	a, _ := engines.Month("vllm", "0.12.0")
	b, _ := engines.Month("vllm", "0.14.0")
	if months := b - a; math.Abs(months-(1+17.0/31)) > 1e-9 {
		t.Errorf("3 December to 20 January is %g months", months)
	}
}
