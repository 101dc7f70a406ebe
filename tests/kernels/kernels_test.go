package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/distil"
	"github.com/llmsim/llmsim/models/measured"
)

// A converted table has the rows of the published one, and is found as such.
func TestConvert(t *testing.T) {
	type product struct {
		DType   string   `parquet:"gemm_dtype,dict"`
		M       int64    `parquet:"m"`
		N       int64    `parquet:"n"`
		K       int64    `parquet:"k"`
		Latency float64  `parquet:"latency"`
		Power   *float64 `parquet:"power,optional"`
	}
	in, out := t.TempDir(), t.TempDir()
	folder := filepath.Join(in, "h100_sxm", "gemm", "vllm", "0.24.0")
	testkit.OK(t, os.MkdirAll(folder, 0o777))
	rows := []product{{"fp8", 16, 4096, 8192, 0.25, nil}, {"fp8, e4m3", 32, 4096, 8192, 0.5, nil}}
	testkit.OK(t, parquet.WriteFile(filepath.Join(folder, "gemm_perf.parquet"), rows,
		parquet.Compression(&parquet.Zstd)))
	testkit.OK(t, convert(in, out))
	tables, err := measured.Select(os.DirFS(out), measured.Wanted{Accelerator: []string{"h100-sxm"},
		Engine: "vllm"})
	if err != nil || len(tables) != 1 || tables[0].Name != "gemm" || tables[0].Instead != "" {
		t.Fatalf("%+v, %v", tables, err)
	}
	var got []product
	testkit.OK(t, tables[0].Each(os.DirFS(out), func(r *measured.Row) {
		if r.Text("power") != "" {
			t.Errorf("power is %q, want an empty field", r.Text("power"))
		}
		got = append(got, product{r.Text("gemm_dtype"), int64(r.Count("m")), int64(r.Count("n")),
			int64(r.Count("k")), r.Number("latency", 0), nil})
	}))
	if !slices.Equal(got, rows) {
		t.Errorf("%v, want %v", got, rows)
	}
	testkit.OK(t, os.WriteFile(filepath.Join(folder, "moe_perf.parquet"), []byte("PAR1"), 0o666))
	if err := convert(in, out); err == nil || !strings.Contains(err.Error(), "moe_perf.parquet") {
		t.Errorf("a damaged file: %v, want its name", err)
	}
}

// Each kind of mixer is about as far from the kernels of an H200 as docs/models.md says.
func TestErrorsByKind(t *testing.T) {
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	h200, err := catalog.Accelerator("h200-sxm")
	testkit.OK(t, err)
	catalog.Accelerators = []hardware.Accelerator{h200}
	out := t.TempDir()
	testkit.OK(t, convert(testkit.Shared(t, "measured", "kernels"), out))
	results, err := distil.CompareMixers(os.DirFS(out), catalog)
	testkit.OK(t, err)
	found := map[string]distil.MixerError{}
	for _, r := range results {
		found[r.Engine+" "+r.Kind+" "+r.Phase] = r
	}
	for name, most := range map[string]float64{
		"vllm gated delta net prefill": 0.16, "vllm gated delta net decode": 0.08,
		"trtllm gated delta net prefill":    0.08,
		"vllm Kimi delta attention prefill": 0.18, "vllm Kimi delta attention decode": 0.06,
		"sglang Kimi delta attention prefill": 0.11,
		"vllm hyper-connections prefill":      0.1, "sglang hyper-connections prefill": 0.1,
		// These rest on what ordinary attention reaches, which changes with each fit to servers.
		"trtllm latent attention decode": 0.6, "trtllm latent attention prefill": 0.35,
		"vllm latent attention, module decode": 0.45, "vllm latent attention, module prefill": 0.35,
		"vllm sparse latent attention, module decode":         0.5,
		"sglang sparse attention (MiniMax-M3), module decode": 0.4,
	} {
		if r := found[name]; r.Kernels < 40 || r.Error > most {
			t.Errorf("%s: median error %.1f %% of %d kernels, want at most %.1f %%", name,
				100*r.Error, r.Kernels, 100*most)
		}
	}
}
