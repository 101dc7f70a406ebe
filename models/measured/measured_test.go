package measured

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/llmsim/llmsim/internal/testkit"
)

// published is a folder with tables of the given paths.
func published(paths ...string) fs.FS {
	dir := fstest.MapFS{"README.md": {Data: []byte("see there")}}
	for _, path := range paths {
		dir[path] = &fstest.MapFile{}
	}
	return dir
}

func TestSelectTakesTheEngineAndItsNewestVersion(t *testing.T) {
	dir := published(
		"h100_sxm/gemm/vllm/0.5.14/gemm_perf.csv",
		"h100_sxm/gemm/vllm/0.24.0/gemm_perf.csv",
		"h100_sxm/gemm/sglang/0.25.0/gemm_perf.csv",
		"h100_sxm/mla/trtllm/1.3.0rc20/context_mla_perf.csv",
		"h100_sxm/comm/nccl/2.29.2/nccl_perf.csv",
		"rtx_pro_6000_server/gemm/vllm/0.24.0/gemm_perf.csv",
	)
	for _, w := range []struct {
		wanted Wanted
		want   []string
	}{
		{Wanted{[]string{"H100-SXM"}, "vllm", ""}, []string{
			"h100_sxm/mla/trtllm/1.3.0rc20/context_mla_perf.csv instead of vllm",
			"h100_sxm/gemm/vllm/0.24.0/gemm_perf.csv",
			"h100_sxm/comm/nccl/2.29.2/nccl_perf.csv"}},
		{Wanted{[]string{"h100-sxm"}, "vllm", "0.5.14"}, []string{
			"h100_sxm/mla/trtllm/1.3.0rc20/context_mla_perf.csv instead of vllm",
			"h100_sxm/gemm/vllm/0.5.14/gemm_perf.csv",
			"h100_sxm/comm/nccl/2.29.2/nccl_perf.csv"}},
		{Wanted{[]string{"rtx-pro-6000"}, "sglang", ""}, []string{
			"rtx_pro_6000_server/gemm/vllm/0.24.0/gemm_perf.csv instead of sglang"}},
		{Wanted{[]string{"rtx-pro-6000"}, "vllm", "0.19.0"}, []string{
			"rtx_pro_6000_server/gemm/vllm/0.24.0/gemm_perf.csv instead of vllm 0.19.0"}},
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
	_, err := Select(published("h100_sxm/gemm/vllm/0.24.0/gemm_perf.parquet"), Wanted{})
	if err == nil || !strings.Contains(err.Error(), "tests/kernels") {
		t.Errorf("tables as they are published: %v, want how to convert them", err)
	}
	_, err = Select(dir, Wanted{Accelerator: []string{"b200-sxm"}})
	if err == nil || !strings.Contains(err.Error(),
		"several accelerators (h100_sxm, rtx_pro_6000_server), and none is called b200-sxm") {
		t.Errorf("got %v", err)
	}
}

func TestMistakesNameTheirPlace(t *testing.T) {
	dir := fstest.MapFS{"row.csv": {Data: []byte("latency\n-1\n")}, "empty.csv": {}}
	for path, want := range map[string]string{
		"row.csv":   `row.csv:2: column latency is "-1", want a number of at least 0`,
		"empty.csv": "empty.csv: the file is empty", "absent.csv": "absent.csv",
	} {
		err := Table{Path: path}.Each(dir, func(r *Row) { r.Number("latency", 0) })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// Whatever a CSV file holds, its rows have a field for each column, and mistakes name the file.
func FuzzCSV(f *testing.F) {
	f.Add("m,n,k\n1,2,3\n")
	f.Add("\ufeffm,\"n\n\",m\n")
	f.Fuzz(func(t *testing.T, text string) {
		var err error
		testkit.Bounded(t, len(text), func() {
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

// Tables that are made to take all memory or time are refused in words that name the bound.
func TestTablesAreBounded(t *testing.T) {
	text := func(line string, n int) []byte { return []byte("m\n" + strings.Repeat(line, n)) }
	wide := []byte(strings.Repeat("a,", maxColumns) + "b\n")
	for want, file := range map[string]struct {
		name string
		data []byte
	}{
		"found 1048577 rows": {"rows.csv", text("1\n", maxRows+1)},
		"found 101 columns":  {"columns.csv", wide},
		"(64 MiB), which is the most": {
			"bytes.csv", text(strings.Repeat("x", 60_000)+"\n", 1200)},
		"a line of more than 65536 bytes":  {"line.csv", text(",", maxLine+1)},
		"goes on over the end of its line": {"field.csv", text("\"\n\n", 1)},
		`the column "m" twice`:             {"twice.csv", []byte("m,n, m\n")},
	} {
		t.Run(file.name, func(t *testing.T) {
			dir := fstest.MapFS{file.name: {Data: file.data}}
			testkit.Bounded(t, len(file.data), func() {
				err := Table{Path: file.name}.Each(dir, func(*Row) {})
				if err == nil || !strings.Contains(err.Error(), want) ||
					!strings.HasPrefix(err.Error(), file.name) {
					t.Errorf("%v, want %q", err, want)
				}
			})
		})
	}
}

// A folder that is none of tables is given up, wherever the many are.
func TestFoldersAreBounded(t *testing.T) {
	for _, deep := range []string{"", "a/b/c/d/"} {
		dir := fstest.MapFS{}
		for i := range maxEntries + 1 {
			dir[fmt.Sprintf("%s%d", deep, i)] = &fstest.MapFile{}
		}
		if _, err := Select(dir, Wanted{}); err == nil ||
			!strings.Contains(err.Error(), "more than 65536 files and folders") {
			t.Errorf("%d files in %q: %v", len(dir), deep, err)
		}
	}
	many := fstest.MapFS{}
	for i := range maxFiles + 1 {
		many[fmt.Sprintf("h100__%d.csv", i)] = &fstest.MapFile{}
	}
	if _, err := Select(many, Wanted{}); err == nil ||
		!strings.Contains(err.Error(), "found 4097 tables, allowed: at most 4096") {
		t.Errorf("%d tables: %v", len(many), err)
	}
}
