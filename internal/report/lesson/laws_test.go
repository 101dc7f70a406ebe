package lesson

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models"
)

// blocks are the parts of a text that empty lines set off, each its lines.
func blocks(text string) (list [][]string) {
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		list = append(list, strings.Split(part, "\n"))
	}
	return list
}

// drawDevices draws machines with rates below the law, some of them predicted.
func drawDevices(t *rapid.T) (rows []Device) {
	for i := range rapid.IntRange(1, 6).Draw(t, "machines") {
		d := Device{Device: fmt.Sprint("machine", i), Model: "m",
			Weights:   rapid.SampledFrom([]string{"f16", "q4_0"}).Draw(t, "weights"),
			Bandwidth: 1e9 * float64(rapid.IntRange(100, 999).Draw(t, "GB/s")),
			Peak:      1e12 * float64(rapid.IntRange(100, 999).Draw(t, "TFLOP/s"))}
		for _, r := range []*Rate{&d.Decode, &d.Prefill} {
			r.Law = float64(rapid.IntRange(100, 999).Draw(t, "law"))
			r.Measured = r.Law * float64(rapid.IntRange(10, 99).Draw(t, "percent")) / 100
			if rapid.Bool().Draw(t, "known") {
				r.Predicted = r.Law * float64(rapid.IntRange(10, 99).Draw(t, "predicted")) / 100
			}
		}
		rows = append(rows, d)
	}
	return rows
}

// Each machine has a row under either law, with its bandwidth or its FLOP/s, the law, what was
// measured, its share, and the prediction or a dash. The text has the extremes of the shares, and
// names the prediction whose factor is the farthest from 1.
func TestTablesOfMachines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := drawDevices(t)
		var out bytes.Buffer
		testkit.OK(t, doc.Print(&out, DeviceBlocks(rows)))
		parts := blocks(out.String())
		if len(parts) != 7 {
			t.Fatalf("%d parts, want two of a heading, a table and its words, and the end:\n%s",
				len(parts), out.String())
		}
		worst, errors := 0.0, map[string]float64{}
		for k := range 2 {
			table, words := parts[3*k+1], strings.Join(parts[3*k+2], " ")
			low, high := math.Inf(1), 0.0
			if len(table) != 1+len(rows) {
				t.Fatalf("%d lines for %d machines:\n%s", len(table), len(rows), out.String())
			}
			for i := range rows {
				rate, amount := rows[i].Decode, rows[i].Bandwidth/1e9
				if k == 1 {
					rate, amount = rows[i].Prefill, rows[i].Peak/1e12
				}
				predicted := "–"
				if rate.Predicted > 0 {
					predicted = units.Figure(rate.Predicted)
					words := predicted + "/s, and " + units.Figure(rate.Measured) +
						"/s were measured."
					off := math.Abs(math.Log(rate.Predicted / rate.Measured))
					errors[words] = max(errors[words], off)
					worst = max(worst, off)
				}
				want := []string{rows[i].Device, "m", rows[i].Weights, units.Figure(amount),
					units.Figure(rate.Law), units.Figure(rate.Measured),
					units.Percent(rate.Measured / rate.Law), predicted}
				if got := strings.Fields(table[i+1]); strings.Join(got, " ") != strings.Join(want,
					" ") {
					t.Errorf("row %q, want %q", got, want)
				}
				low, high = min(low, rate.Measured/rate.Law), max(high, rate.Measured/rate.Law)
			}
			if reach := units.Percent(low) + " to " +
				units.Percent(high); !strings.Contains(words,
				"The machines reach "+reach+" of it.") {
				t.Errorf("%q, want %s", words, reach)
			}
		}
		end := strings.Join(parts[6], " ")
		// Of errors that are as large but for rounding, such as 11 for 78 and 78 for 11, the end
		// names either.
		named := worst == 0
		for words, off := range errors {
			named = named || off >= worst*(1-1e-9) && strings.Contains(end, words)
		}
		if !named || strings.Contains(end, "The largest error") != (worst > 0) ||
			!strings.Contains(end, "Measured with "+Source) || !strings.Contains(end,
			"Weights of 4 bits") {
			t.Errorf("%q, want the largest of %v", end, errors)
		}
	})
}

// The show has a row for each word, for each draft and for each number of drafts, with their
// probabilities; a draft is kept where its coin is below its chance. Bars are as long as their
// probabilities.
func TestTablesOfDrafts(t *testing.T) {
	for seed := range uint64(4) {
		s := NewDrafts(seed)
		var out bytes.Buffer
		testkit.OK(t, doc.Print(&out, s.Blocks()))
		parts := blocks(out.String())
		if len(parts) != 6 || len(parts[1]) != 1+len(s.Words) || len(parts[3]) != 1+len(s.Tosses) ||
			len(parts[4]) != 1+len(s.Tallies) {
			t.Fatalf("%d parts:\n%s", len(parts), out.String())
		}
		accept := map[string]float64{}
		for i, w := range s.Words {
			accept[w.Word] = w.Accept
			line := parts[1][i+1]
			var shares []float64
			for _, field := range strings.Fields(line) {
				x := 0.0
				if _, err := fmt.Sscanf(field, "%g%%", &x); err == nil && strings.HasSuffix(field,
					"%") {
					shares = append(shares, x/100)
				}
			}
			for k, want := range []float64{w.Target, w.Draft, w.Accept, w.Residual} {
				if len(shares) != 4 || math.Abs(shares[k]-want) > 0.0051 {
					t.Errorf("the shares of %q are %v, want %+v", line, shares, w)
				}
			}
			bars := float64(strings.Count(line, "█"))
			want := (w.Target + w.Draft + min(w.Residual, 0.6)) / 0.6 * barWidth
			if bars > want+0.1 || bars < want-3.1 {
				t.Errorf("%g full characters in %q, want %g", bars, line, want)
			}
		}
		for i, toss := range s.Tosses {
			verdict := map[bool]string{true: "kept", false: "rejected"}[toss.Accepted]
			want := fmt.Sprintf("%s %.2f %.2f %s %s", toss.Drafted, toss.Coin, accept[toss.Drafted],
				verdict,
				toss.Out)
			if got := strings.Join(strings.Fields(parts[3][i+1]), " "); got != want ||
				toss.Accepted != (toss.Coin < accept[toss.Drafted]) {
				t.Errorf("%q, want %q", got, want)
			}
		}
		for i, tally := range s.Tallies {
			want := fmt.Sprintf("%s %s %.0f%% %.4f", tally.Algorithm,
				units.Figure(float64(tally.Drafts)),
				100*tally.Accepted, tally.Distance)
			if got := strings.Join(strings.Fields(parts[4][i+1]), " "); got != want ||
				tally.Drafts != []int{10, 100, 1000, 10_000, 100_000}[i%5] {
				t.Errorf("%q, want %q", got, want)
			}
		}
		if !strings.HasPrefix(strings.Join(parts[5], " "), "In the long run 75% of the drafts") {
			t.Errorf("%q", parts[5])
		}
	}
}

// A column of figures is aligned to the right, so that their places are below each other; words
// and bars begin at the left. There are as many drafts as words.
func TestFiguresAreAlignedToTheRight(t *testing.T) {
	s := NewDrafts(1)
	rows, err := Devices()
	testkit.OK(t, err)
	tables := 0
	for _, b := range append(s.Blocks(), DeviceBlocks(rows)...) {
		if b.Kind != doc.Table {
			continue
		}
		tables++
		for k, title := range b.Header {
			figures := true
			for _, row := range b.Rows {
				figures = figures && strings.Trim(row[k], " 0123456789.,%–") == ""
			}
			if slices.Contains(b.Left, k) == figures {
				t.Errorf("column %q has figures: %v, and is left: %v", title, figures, !figures)
			}
		}
	}
	if tables != 5 || len(s.Tosses) != len(s.Words) {
		t.Errorf("%d tables, %d drafts of %d words", tables, len(s.Tosses), len(s.Words))
	}
}

// Half of the FLOPs of a token are the weights that it meets: all that are read for a token of an
// answer, but the head's, and attention beside them. A law is an amount over what a token takes of
// it. A predicted rate is a fair part of the law, and 16-bit weights are read at the lower rate.
func TestRatesFollowFromTheAmounts(t *testing.T) {
	rows, err := Devices()
	testkit.OK(t, err)
	catalog, err := models.Load()
	testkit.OK(t, err)
	known := 0
	for i, r := range rows {
		model, err := catalog.Lookup(r.Model)
		testkit.OK(t, err)
		weights := float64(model.StreamedBytes(hardware.FP16)) / 2
		if r.FLOPs < 1.8*weights || r.FLOPs > 2.1*weights {
			t.Errorf("%s: %g FLOP for %g weights", r.Model, r.FLOPs, weights)
		}
		if bits := 8 * r.Bytes / weights; r.Weights == "f16" && bits != 16 || r.Weights != "f16" &&
			(bits < 4 || bits > 6) {
			t.Errorf("%s: a weight of %s has %g bits", r.Model, r.Weights, bits)
		}
		if d, p := r.Bytes*r.Decode.Law/r.Bandwidth, r.FLOPs*r.Prefill.Law/r.Peak; math.Abs(
			d-1) > 1e-9 || math.Abs(p-1) > 1e-9 {
			t.Errorf("%s: %g of the bandwidth and %g of the FLOP/s", r.Device, d, p)
		}
		if (r.Decode.Predicted > 0) != (r.Prefill.Predicted > 0) {
			t.Errorf("%s: only one rate is predicted", r.Device)
		}
		if r.Decode.Predicted == 0 {
			continue
		}
		known++
		for _, rate := range []Rate{r.Decode, r.Prefill} {
			if share := rate.Predicted / rate.Law; share < 0.2 || share > 1 {
				t.Errorf("%s, %s %s: %g of the law is predicted", r.Device, r.Model, r.Weights,
					share)
			}
		}
		if before := rows[max(0, i-1)]; before.Device == r.Device && before.Model == r.Model &&
			(before.Weights == "f16" || before.Decode.Predicted <= r.Decode.Predicted) {
			t.Errorf("%s: %g tokens/s of %s, %g of %s", r.Device, before.Decode.Predicted,
				before.Weights, r.Decode.Predicted, r.Weights)
		}
	}
	pictures, err := DevicePictures(rows)
	if testkit.OK(t, err); known == 0 || len(pictures) != 2 || pictures["devices"] == nil ||
		pictures["devices-prompts"] == nil {
		t.Errorf("%d predictions, pictures %v", known, pictures)
	}
}
