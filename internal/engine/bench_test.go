package engine

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/engine/gpt2"
	"github.com/llmsim/llmsim/internal/testkit"
)

func TestRun(t *testing.T) {
	m, err := gpt2.Load(filepath.Join("testdata", "tiny"), gpt2.Options{})
	testkit.OK(t, err)
	defer m.Close()
	cases, err := BenchCases(m, []int{1}, []int{1, 3}, []int{40, 1000}, []int{20, 1000})
	testkit.OK(t, err)
	if len(cases) != 3 {
		t.Fatalf("%d cases, want 3: what is longer than the context is left out", len(cases))
	}
	// By hand, for 2 layers of width 64 and a vocabulary of 257: 12·64² multiply-adds a token and
	// layer.
	const layers, head = 2 * 2 * 12 * 64 * 64, 2 * 257 * 64
	wantFLOPs := []int64{
		layers + head + 4*40*64*2,
		3 * (layers + head + 4*40*64*2),
		20*layers + head + 4*(20*21/2)*64*2,
	}
	for i, c := range cases {
		r, err := Bench(m, c, BenchOptions{ProbeBytes: 1 << 20})
		testkit.OK(t, err)
		if r.FLOPs != wantFLOPs[i] {
			t.Errorf("%+v: %d FLOPs, want %d", c, r.FLOPs, wantFLOPs[i])
		}
		if !(r.StepTime > 0 && r.Rate > 0 && r.BandwidthShare > 0 && r.FLOPShare > 0 &&
			r.Steps >= 3) {
			t.Errorf("result %+v", r)
		}
	}
	if _, err := BenchCases(m, []int{0}, nil, nil, nil); err == nil {
		t.Error("no error for 0 threads")
	}
}

func TestWriteTable(t *testing.T) {
	var b strings.Builder
	err := WriteBench(&b, []BenchResult{
		{BenchCase: BenchCase{"decode", 2, 8, 32}, StepTime: 0.0125, Rate: 640, Bandwidth: 4e10,
			BandwidthShare: 0.9, FLOPRate: 1.6e11, FLOPShare: 0.5}})
	want := "decode        2      8      32    12.50       640  40.0   90 %      160   50 %"
	if err != nil || !strings.Contains(b.String(), want) {
		t.Errorf("%v, table\n%s\nwant the line\n%s", err, b.String(), want)
	}
}
