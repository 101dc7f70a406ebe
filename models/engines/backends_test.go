package engines_test

import (
	"encoding/csv"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models/engines"
)

// Attention, dense products and the exchange of experts' tokens have the back ends of
// kernel_backends.csv: each of its rows of a default has, in the version, on each generation, in
// each format and under its condition, one of the back ends that the row names, and each row of a
// flag names one that the engine has, which is what is asked for.
func TestBackEndsAreThoseOfTheTable(t *testing.T) {
	file, err := os.Open(testkit.Shared(t, "engines", "kernel_backends.csv"))
	testkit.OK(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	testkit.OK(t, err)
	defaults, flags := 0, 0
	for _, row := range rows[1:] {
		r := tableRow{}
		for i, name := range rows[0] {
			r[name] = row[i]
		}
		ofs, is := map[string][]engines.Operator{
			"attention_decode": {engines.Decode}, "attention_prefill": {engines.Prefill},
			"gemm": {engines.Products}, "all2all": {engines.Exchange}}[r["operator"]]
		if !is || r.beside() {
			continue
		}
		release, err := engines.Find(r["engine"], "")
		testkit.OK(t, err)
		if v := r.version(); v != "" {
			release.Version, err = engines.ParseVersion(v)
			testkit.OK(t, err)
		}
		if name, is := r.flag(); is {
			flags++
			if err := release.CheckBackend(ofs[0], name); err != nil {
				t.Errorf("%v: %v", row, err)
			}
			continue
		}
		defaults++
		for _, at := range r.places() {
			for _, format := range r.formats() {
				b, _ := release.Backend(ofs[0], format, at, "")
				if names := r.names(); !slices.Contains(names, b.Name) {
					t.Errorf("%s %s has %q for %s in %s on %s, attention %s, model %q, want one "+
						"of %q", r["engine"], release.Version, b.Name, ofs[0], format,
						at.Accelerator.Generation, at.Attention, at.Model, names)
				}
			}
		}
	}
	if defaults < 40 || flags < 25 {
		t.Errorf("found %d defaults and %d flags in %d rows", defaults, flags, len(rows))
	}
}

// tableRow is a row of the table, by the names of its columns.
type tableRow map[string]string

// beside reports whether a row is about what no rule here decides: variables that take any name,
// the version of FlashAttention, vision towers, context parallelism of decoding, and the products
// of BF16 in decode steps on Blackwell, whose release is not known.
func (r tableRow) beside() bool {
	how, condition := r["how_selected"], r["condition"]
	return strings.HasPrefix(r["backend"], "the named") || r["backend"] == "as named" ||
		strings.HasPrefix(how, "env ") || strings.Contains(how, "flash_attn_version") ||
		r["format"] == "vision tower" || strings.Contains(condition, "DCP > 1") ||
		r["format"] == "bf16" && r["operator"] == "gemm" || strings.Contains(r["format"], "mxfp8")
}

// version is one of the versions of the row; empty for any.
func (r tableRow) version() string {
	v := r["version_from"]
	if v == "" {
		v = r["version_to"]
	}
	return strings.ReplaceAll(v, ".x", ".10")
}

// flag returns the back end of a row about a flag.
func (r tableRow) flag() (name string, is bool) {
	if !strings.HasPrefix(r["how_selected"], "flag ") || strings.Contains(r["how_selected"],
		"default in later") {
		return "", false
	}
	return engines.BackendName(r["backend"]), true
}

// names are the back ends that a row of a default names: words in capitals, or names of libraries.
func (r tableRow) names() (list []string) {
	said := strings.NewReplacer("TRT-LLM ragged", "trtllm-ragged", "FlashAttention varlen",
		"flash-attn", "none (all-reduce", "none", "flashinfer cutedsl", "flashinfer-cutedsl",
		"(", " ", ")", " ", ",", " ", ";", " ").Replace(r["backend"])
	for word := range strings.FieldsSeq(said) {
		list = append(list, engines.BackendName(word))
	}
	return list
}

// places are where the row holds.
func (r tableRow) places() (list []engines.Place) {
	generations := map[string][]string{"Hopper and older": {"hopper", "ampere"},
		"Hopper": {"hopper"}, "Blackwell SM100": {"blackwell"}, "SM100": {"blackwell"},
		"Blackwell": {"blackwell"}, "SM120": {"blackwell-rtx"}, "SM121": {"blackwell-rtx"},
		"SM121 (GB10)": {"blackwell-rtx"}, "Ampere": {"ampere"}, "Ada": {"ada"},
		"MI300X and later": {"cdna3"}, "others": {"ampere", "ada", "blackwell-rtx"},
		"any": {"hopper", "blackwell"}}
	at := engines.Place{Attention: "heads", Expert: 1, Data: 8, Tensor: 1}
	condition := r["condition"]
	switch {
	case strings.HasPrefix(condition, "sparse MLA"), strings.HasPrefix(condition, "DSA"):
		at.Attention = "sparse"
	case strings.HasPrefix(condition, "MLA"):
		at.Attention = "latent"
	}
	if strings.Contains(condition, "gpt-oss") || strings.HasPrefix(condition, "sinks") {
		at.Model = "gpt-oss-20b"
	} else if strings.Contains(condition, "gemma-3") {
		at.Model = "gemma-3-12b-it"
	}
	if strings.Contains(r["backend"], "on Hopper") {
		r["gpu_generation"] = "Hopper"
	}
	for word := range strings.SplitSeq(r["gpu_generation"], ", ") {
		for _, generation := range generations[word] {
			at.Accelerator = &hardware.Accelerator{Generation: generation}
			list = append(list, at)
		}
	}
	return list
}

// formats are the number formats of the row: of the cache for attention, else of the weights.
func (r tableRow) formats() []hardware.DType {
	switch f := strings.Fields(r["format"])[0]; f {
	case "bf16", "all":
		return []hardware.DType{hardware.BF16}
	case "nvfp4":
		return []hardware.DType{hardware.FP4}
	case "fp8_ds_mla":
		return []hardware.DType{hardware.FP8}
	default:
		return []hardware.DType{hardware.DType(f)}
	}
}
