package safetensors

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// TestRoundTrip writes tensors of random shapes and reads them back bit for bit.
func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.safetensors")
	rapid.Check(t, func(t *rapid.T) {
		var specs []Spec
		var want [][]float32
		for i := range rapid.IntRange(0, 4).Draw(t, "tensors") {
			shape := rapid.SliceOfN(rapid.Int64Range(0, 5), 1, 3).Draw(t, "shape")
			specs = append(specs, Spec{Name: "t\"" + string(rune('a'+i)), Shape: shape})
			n := 1
			for _, d := range shape {
				n *= int(d)
			}
			want = append(want, rapid.SliceOfN(rapid.Float32(), n, n).Draw(t, "values"))
		}
		at := make([]int, len(specs))
		err := Create(path, specs, func(i int, row []float32) error {
			at[i] += copy(row, want[i][at[i]:])
			return nil
		})
		testkit.OK(t, err)
		f, err := Open(path)
		testkit.OK(t, err)
		defer f.Close()
		for i, s := range specs {
			got := make([]float32, len(want[i]))
			testkit.OK(t, f.Float32s(f.Lookup(s.Name), got))
			for j := range got {
				if math.Float32bits(got[j]) != math.Float32bits(want[i][j]) {
					t.Fatalf("%s[%d] = %v, want %v", s.Name, j, got[j], want[i][j])
				}
			}
		}
	})
}

// TestFloat16 checks every half-precision number against its definition in IEEE 754, section 3.4.
func TestFloat16(t *testing.T) {
	for bits := range 1 << 16 {
		h := uint16(bits)
		e, m := int(h>>10&31), float64(h&1023)
		want := math.Ldexp(1+m/1024, e-15)
		switch {
		case e == 0:
			want = math.Ldexp(m, -24)
		case e == 31 && m == 0:
			want = math.Inf(1)
		case e == 31:
			want = math.NaN()
		}
		if h>>15 == 1 {
			want = -want
		}
		got := float64(float16(h))
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("float16(%#04x) = %v, want %v", h, got, want)
		}
	}
}

func TestBadFilesAreErrors(t *testing.T) {
	file := func(header string, data int) string {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(header)))
		return string(n[:]) + header + strings.Repeat("\x00", data)
	}
	for name, c := range map[string]struct{ file, want string }{
		"empty":       {"", "too few"},
		"short":       {"1234567", "too few"},
		"huge header": {"\xff\xff\xff\xff\xff\xff\xff\xff{}", "claims"},
		"cut header":  {file(`{"a":`, 0)[:10], "claims"},
		"not JSON":    {file("hello", 0), "not a JSON object"},
		"open object": {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`, 4),
			"unexpected end of JSON"},
		"text after": {file(`{} {}`, 0), "after top-level value"},
		"twice": {file(
			`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0), "twice"},
		"format": {file(`{"a":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}}`, 4),
			"unknown format"},
		"shape": {file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4),
			"takes 8 bytes"},
		"negative": {file(`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, 4),
			"shape"},
		"overflow": {file(
			`{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}}`, 4),
			"too large"},
		"beyond": {file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 4),
			"truncated"},
		"reversed": {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`, 4),
			"lying"},
		"gap": {file(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8),
			"ends at 0"},
		"overlap": {file(
			`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 4), "ends at 4"},
		"trailing data": {file(`{}`, 4), "describes 0 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "bad.safetensors")
			testkit.OK(t, os.WriteFile(path, []byte(c.file), 0o600))
			_, err := Open(path)
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want one that names the file and says %q", err, c.want)
			}
		})
	}
}

// FuzzHeader checks that whatever passes as a header describes the data section exactly.
func FuzzHeader(f *testing.F) {
	f.Add([]byte(`{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`), int64(8))
	f.Add([]byte(`{"a":{"dtype":"F16","shape":[],"data_offsets":[0,2]}}`), int64(2))
	f.Add([]byte(`{"a":null}`), int64(0))
	f.Fuzz(func(t *testing.T, header []byte, size int64) {
		var tensors []Info
		var err error
		testkit.Bounded(t, len(header), func() { tensors, err = parseHeader(header, size) })
		if err != nil {
			return
		}
		total := int64(0)
		for _, x := range tensors {
			if x.Begin != total || x.End-x.Begin != x.Elements()*x.DType.size() {
				t.Fatalf("accepted %+v after %d bytes", x, total)
			}
			total = x.End
		}
		if total != size {
			t.Fatalf("accepted %d bytes of %d", total, size)
		}
	})
}
