package measured

import (
	"bytes"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/parquet-go/parquet-go"

	"github.com/llmsim/llmsim/internal/files/filestest"
	"github.com/llmsim/llmsim/internal/must"
)

// product is a row of a published table of matrix products.
type product struct {
	Framework string  `parquet:"framework,dict"`
	DType     string  `parquet:"gemm_dtype,dict"`
	M         int64   `parquet:"m"`
	N         int64   `parquet:"n"`
	K         int64   `parquet:"k"`
	Latency   float64 `parquet:"latency"`
}

func written(t testing.TB, rows ...product) []byte {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, parquet.Write(&b, rows, parquet.Compression(&parquet.Zstd)))
	return b.Bytes()
}

// published is a folder with tables of the given paths.
func published(t testing.TB, paths ...string) fs.FS {
	dir := fstest.MapFS{"README.md": {Data: []byte("see there")}}
	for i, path := range paths {
		row := product{"VLLM", "bfloat16", 16, 4096, 8192, float64(i + 1)}
		dir[path] = &fstest.MapFile{Data: written(t, row, row)}
	}
	return dir
}

func TestSelectTakesTheEngineAndItsNewestVersion(t *testing.T) {
	dir := published(t,
		"h100_sxm/gemm/vllm/0.5.14/gemm_perf.parquet",
		"h100_sxm/gemm/vllm/0.24.0/gemm_perf.parquet",
		"h100_sxm/gemm/sglang/0.25.0/gemm_perf.parquet",
		"h100_sxm/mla/trtllm/1.3.0rc20/context_mla_perf.parquet",
		"h100_sxm/comm/nccl/2.29.2/nccl_perf.parquet",
		"rtx_pro_6000_server/gemm/vllm/0.24.0/gemm_perf.parquet",
	)
	for _, w := range []struct {
		wanted Wanted
		want   []string
	}{
		{Wanted{[]string{"H100-SXM"}, "vllm", ""}, []string{
			"h100_sxm/mla/trtllm/1.3.0rc20/context_mla_perf.parquet instead of vllm",
			"h100_sxm/gemm/vllm/0.24.0/gemm_perf.parquet",
			"h100_sxm/comm/nccl/2.29.2/nccl_perf.parquet"}},
		{Wanted{[]string{"h100-sxm"}, "vllm", "0.5.14"}, []string{
			"h100_sxm/mla/trtllm/1.3.0rc20/context_mla_perf.parquet instead of vllm",
			"h100_sxm/gemm/vllm/0.5.14/gemm_perf.parquet",
			"h100_sxm/comm/nccl/2.29.2/nccl_perf.parquet"}},
		{Wanted{[]string{"rtx-pro-6000"}, "sglang", ""}, []string{
			"rtx_pro_6000_server/gemm/vllm/0.24.0/gemm_perf.parquet instead of sglang"}},
		{Wanted{[]string{"rtx-pro-6000"}, "vllm", "0.19.0"}, []string{
			"rtx_pro_6000_server/gemm/vllm/0.24.0/gemm_perf.parquet instead of vllm 0.19.0"}},
	} {
		tables, err := Select(dir, w.wanted)
		var got []string
		for _, table := range tables {
			name := table.Path
			if table.Instead != "" {
				name += " instead of " + table.Instead
			}
			got = append(got, name)
		}
		if err != nil || !slices.Equal(got, w.want) {
			t.Errorf("%+v: %q (%v), want %q", w.wanted, got, err, w.want)
		}
	}
	_, err := Select(dir, Wanted{Accelerator: []string{"b200-sxm"}})
	if err == nil || !strings.Contains(err.Error(),
		"several accelerators (h100_sxm, rtx_pro_6000_server), and none is called b200-sxm") {
		t.Errorf("got %v", err)
	}
}

func TestRowsOfParquetAndCSVAreAlike(t *testing.T) {
	dir := fstest.MapFS{
		"a.parquet": {Data: written(t, product{"VLLM", "fp8", 16, 4096, 8192, 0.25},
			product{"VLLM", "fp8", 32, 4096, 8192, 0.5})},
		"a.csv": {Data: []byte(
			"gemm_dtype,m,n,k,latency\nfp8,16,4096,8192,0.25\nfp8,32,4096,8192,0.5\n")},
	}
	read := func(path string) (list []product) {
		err := Table{Path: path}.Each(dir, func(r *Row) {
			list = append(list, product{"", r.Text("gemm_dtype"), int64(r.Count("m")),
				int64(r.Count("n")), int64(r.Count("k")), r.Number("latency", 0)})
		})
		must.OK(t, err)
		return list
	}
	if a, b := read("a.parquet"), read("a.csv"); len(a) != 2 || !slices.Equal(a, b) {
		t.Errorf("Parquet has %v, CSV %v", a, b)
	}
}

func TestMistakesNameTheirPlace(t *testing.T) {
	good := written(t, product{"VLLM", "fp8", 16, 4096, 8192, -1})
	dir := fstest.MapFS{
		"row.parquet": {Data: good}, "short.parquet": {Data: good[:len(good)/2]},
		"text.parquet": {Data: []byte("m,n,k\n")},
		"row.csv":      {Data: []byte("latency\n-1\n")}, "empty.csv": {},
	}
	for path, want := range map[string]string{
		"row.parquet":   `row.parquet: row 1: column latency is "-1", want a number of at least 0`,
		"row.csv":       `row.csv:2: column latency is "-1"`,
		"short.parquet": "short.parquet: ", "text.parquet": "text.parquet: ",
		"empty.csv": "empty.csv: the file is empty", "none.parquet": "none.parquet",
	} {
		err := Table{Path: path}.Each(dir, func(r *Row) { r.Number("latency", 0) })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// What is read is bounded by what is there: a file that lies about itself is refused, and nothing
// panics.
func FuzzParquet(f *testing.F) {
	good := written(f, product{"VLLM", "fp8", 16, 4096, 8192, 1},
		product{"SGLang", "bfloat16", 1, 2, 3, 4})
	f.Add(good)
	f.Add(good[:len(good)-9])
	f.Add(manyRuns(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := fstest.MapFS{"x.parquet": {Data: data}}
		rows := 0
		var err error
		filestest.Bounded(t, len(data), func() {
			err = Table{Path: "x.parquet"}.Each(dir, func(r *Row) { rows++; r.Text("m") })
		})
		if err == nil && rows > maxRows {
			t.Errorf("%d rows", rows)
		}
	})
}

// Whatever a CSV file holds, its rows have a field for each column, and mistakes name the file.
func FuzzCSV(f *testing.F) {
	f.Add("m,n,k\n1,2,3\n")
	f.Add("\ufeffm,\"n\n\",m\n")
	f.Fuzz(func(t *testing.T, text string) {
		var err error
		filestest.Bounded(t, len(text), func() {
			err = Table{Path: "x.csv"}.Each(fstest.MapFS{"x.csv": {Data: []byte(text)}},
				func(r *Row) {
					if len(r.fields) < len(r.columns) {
						t.Errorf("%d fields for %d columns", len(r.fields), len(r.columns))
					}
				})
		})
		if err != nil && !strings.HasPrefix(err.Error(), "x.csv:") {
			t.Error(err)
		}
	})
}
