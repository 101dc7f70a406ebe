package published

import (
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/training"
)

// The fractions of published runs that are met, by publication: these bounds are what docs/
// training.md states, and a change that worsens one says why.
func TestPublishedRuns(t *testing.T) {
	d, err := Read(os.DirFS(testkit.Shared(t, "anchors", "training")))
	testkit.OK(t, err)
	r := d.Report()
	var text strings.Builder
	testkit.OK(t, r.WriteText(&text))
	t.Log("\n" + text.String())
	if r.Step.Rows < 600 {
		t.Errorf("%d rows are compared, want at least 600", r.Step.Rows)
	}
	if r.Step.Absolute > 0.10 {
		t.Errorf("the median error of the time of a step is %.1f %%, want at most 10 %%",
			100*r.Step.Absolute)
	}
	most := map[string]float64{"BLOOM sweep": 0.175, "InternEvo": 0.12, "fms-fsdp": 0.12,
		"Megatron-Bridge 26.06": 0.12, "Megatron-Bridge 26.06.01": 0.32,
		"Megatron-Bridge 26.08": 0.5, "whole runs": 0.13}
	for _, p := range r.Publications {
		if p.Publication == "torchtune ladder" && p.Memory.Absolute > 0.05 {
			t.Errorf("memory of %s: median error %.1f %%, want at most 5 %%", p.Publication,
				100*p.Memory.Absolute)
		}
		if p.Step == nil {
			continue
		}
		limit := 0.10
		if m, ok := most[p.Publication]; ok {
			limit = m
		}
		if p.Step.Absolute > limit {
			t.Errorf("%s: median error %.1f %%, want at most %.0f %%", p.Publication,
				100*p.Step.Absolute, 100*limit)
		}
	}
}

// Figure 1 of Korthikanti et al., arXiv:2205.05198: activations of the first stage, which a public
// re-computation states to many digits.
func TestActivationsOfFigure1(t *testing.T) {
	tree := os.DirFS(testkit.Shared(t, "anchors", "training"))
	shapes, _, err := records(tree, "megatron_papers.csv")
	testkit.OK(t, err)
	figure, _, err := records(tree, "memory_reports.csv")
	testkit.OK(t, err)
	compared := 0
	for _, r := range figure {
		if r["suite"] != "Korthikanti Fig.1" || r["kind"] != "analytic activations/GPU" {
			continue
		}
		for _, shape := range shapes {
			if shape["table"] != "Korthikanti 2022 Table 5" || shape["model"] != r["model"] ||
				shape["recompute"] != "full" {
				continue
			}
			row, why := megatronRow(shape)
			if why != "" {
				t.Fatal(why)
			}
			j := row.Job
			switch r["method"] + r["config"] {
			case "TP only, no recompute":
				j.Layout.Sequence, j.Layout.Recompute = false, training.NoRecompute
			case "TP+SP+selective":
				j.Layout.Sequence, j.Layout.Recompute = true, training.Selective
			default:
				t.Fatalf("unknown row %v", r)
			}
			m := j.FirstStage()
			want := r.number("mem_value") * (1 << 30)
			if got := m.Of("activations"); math.Abs(got/want-1) > 1e-3 {
				t.Errorf("%s %s: %.4f GiB, want %.4f", r["model"], r["method"], got/(1<<30),
					want/(1<<30))
			}
			compared++
		}
	}
	if compared != 8 {
		t.Errorf("compared %d rows, want 8", compared)
	}
}

// Tables of the same kinds with other rows, missing columns and cells that are empty or wild are
// read without a crash, and each row is either compared or counted with a reason.
func TestOtherTables(t *testing.T) {
	tree := os.DirFS(testkit.Shared(t, "anchors", "training"))
	for name := range tables() { // every column once without its value
		list, _, err := records(tree, name)
		testkit.OK(t, err)
		for column := range list[0] {
			r := maps.Clone(list[0])
			r[column] = ""
			(&Data{}).add(name, 2, r)
		}
	}
	wild := []string{"", "n/a", "NaN", "-1", "0", "1e300", "999999999999", "B200", " "}
	rapid.Check(t, func(t *rapid.T) {
		names := slices.Sorted(maps.Keys(tables()))
		name := rapid.SampledFrom(names).Draw(t, "table")
		list, _, err := records(tree, name)
		testkit.OK(t, err)
		columns := slices.Sorted(maps.Keys(list[0]))
		dropped := rapid.SampledFrom(columns).Draw(t, "dropped")
		r := maps.Clone(rapid.SampledFrom(list).Draw(t, "row"))
		r[dropped] = ""
		for range rapid.IntRange(0, 4).Draw(t, "changes") {
			r[rapid.SampledFrom(columns).Draw(t, "column")] =
				rapid.SampledFrom(wild).Draw(t, "cell")
		}
		d := Data{}
		d.add(name, 2, r)
		if len(d.Rows)+len(d.Left) != 1 {
			t.Fatalf("%d rows and %d left out, want one of both", len(d.Rows), len(d.Left))
		}
		report := d.Report()
		var text strings.Builder
		testkit.OK(t, report.WriteText(&text))
		for why := range report.Left {
			if why == "" || !strings.Contains(text.String(), why) {
				t.Errorf("the report does not say %q:\n%s", why, &text)
			}
		}
		if s := report.Step; s != nil && !(s.Absolute >= 0 && s.Absolute < math.MaxFloat64) {
			t.Errorf("%v: the error is %v", r, s.Absolute)
		}
	})
}
