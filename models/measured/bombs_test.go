//go:build !js

package measured

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/parquet-go/parquet-go"

	"github.com/llmsim/llmsim/internal/files/filestest"
	"github.com/llmsim/llmsim/internal/must"
)

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
		"found 1048577 rows, allowed":      {"rows.parquet", repeated(t, 7, maxRows+1)},
		"bytes, once unpacked": {
			"packed.parquet", repeated(t, strings.Repeat("x", 1000), 70_000)},
		"found 20000 bytes in a field": {
			"field.parquet", repeated(t, strings.Repeat("x", 20_000), 3)},
		"has more": {"runs.parquet", manyRuns(t)},
		"its description of itself is broken": {
			"list.parquet", footer("\x29\xfc\xff\xff\xff\xff\x07")},
		"found 131073 bytes of description": {
			"long.parquet", footer(strings.Repeat("\x00", maxFooter+1))},
		"its description is longer than":   {"short.parquet", []byte("\x09\x00\x00\x00PAR1")},
		"its end is not that of a Parquet": {"empty.parquet", nil},
		"is not in the file":               {"pages.parquet", moved(t)},
	} {
		t.Run(file.name, func(t *testing.T) {
			dir := fstest.MapFS{file.name: {Data: file.data}}
			filestest.Bounded(t, len(file.data), func() {
				err := Table{Path: file.name}.Each(dir, func(*Row) {})
				if err == nil || !strings.Contains(err.Error(), want) ||
					!strings.HasPrefix(err.Error(), file.name) {
					t.Errorf("%v, want %q", err, want)
				}
			})
		})
	}
}

// repeated is a Parquet file with a column "m" that has one value in all rows.
func repeated(t testing.TB, value any, rows int) []byte {
	t.Helper()
	node := parquet.Encoded(parquet.String(), &parquet.Plain)
	if _, number := value.(int); number {
		node = parquet.Encoded(parquet.Int(64), &parquet.RLEDictionary)
	}
	var b bytes.Buffer
	w := parquet.NewWriter(&b, parquet.NewSchema("x", parquet.Group{"m": node}),
		parquet.Compression(&parquet.Zstd))
	row := parquet.Row{parquet.ValueOf(value).Level(0, 0, 0)}
	for range rows {
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			t.Fatal(err)
		}
	}
	must.OK(t, w.Close())
	return b.Bytes()
}

// manyRuns is a file in which a page of 88 equal values says that they are thousands.
func manyRuns(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	rows := slices.Repeat([]product{{DType: "fp8", M: 1}}, 88)
	must.OK(t, parquet.Write(&b, append(rows, product{DType: "fp4"})))
	run := binary.AppendUvarint(nil, 88<<1) // of two bytes, which have room for 8191
	many := binary.AppendUvarint(nil, 8191<<1)
	if !bytes.Contains(b.Bytes(), run) {
		t.Fatal("there is no run")
	}
	return bytes.ReplaceAll(b.Bytes(), run, many)
}

// moved is a file without most of its pages.
func moved(t testing.TB) []byte {
	t.Helper()
	good := repeated(t, 7, 100_000)
	end := len(good) - 8
	length := int(binary.LittleEndian.Uint32(good[end:]))
	return append(slices.Clone(good[:20]), good[end-length:]...)
}

// footer is a file that holds nothing but a description of itself.
func footer(description string) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte(description),
		uint32(len(description))), "PAR1"...)
}

// The library and the check before it read the same structures.
func TestStructLength(t *testing.T) {
	good := written(t, product{DType: "fp8"}, product{DType: "bfloat16"})
	end := len(good) - 8
	length := int(binary.LittleEndian.Uint32(good[end:]))
	for cut := range length + 1 {
		n, err := structLength(good[end-length : end-cut])
		if whole := cut == 0; (err == nil) != whole || whole && n != length {
			t.Fatalf("without the last %d bytes of %d: %d, %v", cut, length, n, err)
		}
	}
}
