package lesson

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
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
		worst, least := 0.0, ""
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
					predicted = report.Figure(rate.Predicted)
					if off := math.Abs(math.Log(rate.Predicted / rate.Measured)); off > worst {
						worst = off
						least = report.Figure(rate.Predicted) + "/s, and " +
							report.Figure(rate.Measured) +
							"/s were measured."
					}
				}
				want := []string{rows[i].Device, "m", rows[i].Weights, report.Figure(amount),
					report.Figure(rate.Law), report.Figure(rate.Measured),
					report.Percent(rate.Measured / rate.Law), predicted}
				if got := strings.Fields(table[i+1]); strings.Join(got, " ") != strings.Join(want,
					" ") {
					t.Errorf("row %q, want %q", got, want)
				}
				low, high = min(low, rate.Measured/rate.Law), max(high, rate.Measured/rate.Law)
			}
			if reach := report.Percent(low) + " to " +
				report.Percent(high); !strings.Contains(words,
				"The machines reach "+reach+" of it.") {
				t.Errorf("%q, want %s", words, reach)
			}
		}
		end := strings.Join(parts[6], " ")
		if !strings.Contains(end, least) || strings.Contains(end,
			"The largest error") != (worst > 0) ||
			!strings.Contains(end, "Measured with "+Source) || !strings.Contains(end,
			"Weights of 4 bits") {
			t.Errorf("%q, want %q", end, least)
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
				report.Figure(float64(tally.Drafts)),
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
