package speculation_test

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/speculation"
)

// anchors reads a table of published figures, and skips the test where there is none.
func anchors(t *testing.T, name string) []map[string]string {
	t.Helper()
	file, err := os.Open(testkit.Shared(t, "anchors", name))
	testkit.OK(t, err)
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil || len(lines) < 2 {
		t.Fatalf("%s: %d lines, %v", name, len(lines), err)
	}
	rows := make([]map[string]string, len(lines)-1)
	for i, line := range lines[1:] {
		rows[i] = map[string]string{}
		for j, field := range line {
			rows[i][lines[0][j]] = field
		}
	}
	return rows
}

func number(t *testing.T, row map[string]string, column string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(row[column], 64)
	if err != nil {
		t.Fatalf("%s: %v", column, err)
	}
	return x
}

// Leviathan et al. 2023, table 1: what is saved and what it costs, for a drafter that costs
// nothing.
func TestLeviathanTable1(t *testing.T) {
	for _, row := range anchors(t, "specdec_leviathan_table1.csv") {
		alpha, gamma := number(t, row, "alpha"), int(number(t, row, "gamma"))
		if got, want := speculation.Speedup(alpha, gamma, 0),
			number(t, row, "speed_factor"); math.Abs(got-want) > 0.0051 {
			t.Errorf("α=%g γ=%d: speed-up %.3f, want %.2f", alpha, gamma, got, want)
		}
		if got, want := speculation.Operations(alpha, gamma, 0),
			number(t, row, "ops_factor"); math.Abs(got-want) > 0.0051 {
			t.Errorf("α=%g γ=%d: operations %.3f, want %.2f", alpha, gamma, got, want)
		}
	}
}

// Leviathan et al. 2023, table 2: the predicted speed-ups, which follow from acceptance and cost as
// the paper rounds them to two places. Some values within that rounding must give the printed one.
func TestLeviathanTable2(t *testing.T) {
	for _, row := range anchors(t, "specdec_leviathan_table2_4.csv") {
		alpha, gamma, cost := number(t, row, "alpha"), int(number(t, row, "gamma")), number(t, row,
			"c_from_memory")
		printed := number(t, row, "paper_expected_from_memory")
		least := speculation.Speedup(alpha-0.005, gamma, cost+0.005)
		most := speculation.Speedup(alpha+0.005, gamma, cost-0.005)
		if printed+0.05 < least || printed-0.05 > most {
			t.Errorf("%s, %s, T=%s: %.3f to %.3f, printed %.1f", row["task"], row["draft"],
				row["temp"], least, most, printed)
		}
		if got, want := speculation.Speedup(alpha, gamma, cost),
			number(t, row, "thm38_recomputed"); math.Abs(got-want) > 0.0051 {
			t.Errorf("%s, %s, T=%s: theorem 3.8 gives %.3f, want %.2f", row["task"], row["draft"],
				row["temp"], got, want)
		}
	}
}

// The grid of optimal lengths below 64, computed apart.
func TestOptimalLengths(t *testing.T) {
	for _, row := range anchors(t, "specdec_optimal_gamma_computed.csv") {
		alpha, cost := number(t, row, "alpha"), number(t, row, "c")
		gamma, want := speculation.OptimalLength(alpha, cost, 63),
			int(number(t, row, "optimal_gamma_(<64)"))
		speedup := speculation.Speedup(alpha, gamma, cost)
		// Without cost, more is never worse, and in the end not better in floating point.
		if gamma != want && !(cost == 0 && gamma < want &&
			speedup == speculation.Speedup(alpha, want, cost)) {
			t.Errorf("α=%g c=%g: optimal length %d, want %d", alpha, cost, gamma, want)
		}
		if want := number(t, row, "speedup"); math.Abs(speedup-want) > 0.00051 {
			t.Errorf("α=%g c=%g: speed-up %.4f, want %.3f", alpha, cost, speedup, want)
		}
	}
}

// Leviathan et al. 2023, corollary 3.9: if α > c, there is a γ that helps, by (1+α)/(1+c) at least;
// else there is none.
func TestWhenDraftingHelps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alpha, cost := rapid.Float64Range(0, 1).Draw(t, "alpha"), rapid.Float64Range(0, 1).Draw(t,
			"cost")
		gamma := speculation.OptimalLength(alpha, cost, 20)
		speedup := speculation.Speedup(alpha, gamma, cost)
		if alpha > cost+1e-9 && speedup < (1+alpha)/(1+cost)-1e-9 {
			t.Fatalf("speed-up %g at γ=%d, want at least %g", speedup, gamma, (1+alpha)/(1+cost))
		}
		if alpha < cost-1e-9 && gamma != 0 {
			t.Fatalf("γ=%d although drafting costs more than it gives", gamma)
		}
	})
}
