package main

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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

// Each kind of mixer is as far from the kernels of an H200 as the table of docs/models.md says.
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
	aside := regexp.MustCompile(` \([^)]*\)`)
	found := map[string]float64{}
	for _, r := range results {
		found[r.Engine+" "+aside.ReplaceAllString(r.Kind, "")+" "+r.Phase] = 100 * r.Error
	}
	told := 0
	for line := range strings.Lines(string(testkit.Read(t, "../../docs/models.md"))) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.Contains(cells[3], " / ") || strings.Contains(line, "vLLM") {
			continue
		}
		kind := aside.ReplaceAllString(strings.TrimSpace(cells[1]), "")
		phase := cmp.Or(strings.TrimSpace(cells[2]), "prefill")
		for i, cell := range strings.Split(cells[3], "/") {
			name := []string{"vllm", "sglang", "trtllm"}[i] + " " + kind + " " + phase
			says, err := strconv.ParseFloat(strings.TrimSpace(cell), 64)
			if got, ok := found[name]; ok != (err == nil) || ok && math.Abs(got-says) > 1 {
				t.Errorf("%s: an error of %.1f %%, docs/models.md says %s", name, got, cell)
			}
			if err == nil {
				told++
			}
		}
	}
	if told != len(found) || told < 30 {
		t.Errorf("docs/models.md has %d errors, and %d kinds were compared", told, len(found))
	}
}
