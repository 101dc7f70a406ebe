package evidence

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// offBy returns an error of a metric whose rows are off by these logarithms.
func offBy(metric string, off ...float64) *Error {
	var rows []Residual
	for _, x := range off {
		rows = append(rows, Residual{Off: x})
	}
	return &Error{Key: plain, Quantity: metric, Rows: len(rows), Residuals: ResidualsOf(rows)}
}

// A bias is told where rows agree, at 5 % and more and beyond two standard errors, to either side.
// One row is not enough for what rows of a server differ in, nor are rows that cancel.
func TestABiasBeyondItsErrorIsTold(t *testing.T) {
	for _, c := range []struct {
		why  string
		e    *Error
		want string
	}{
		{"many rows agree on 10 %", offBy(TPOT, slices.Repeat([]float64{0.1}, 16)...),
			" Measured TPOTs are 1.11 times"},
		{"and on faster servers", offBy(TPOT, slices.Repeat([]float64{-0.1}, 16)...),
			" Measured TPOTs are 0.905 times"},
		{"a rate grows where times for a token shrink",
			offBy(Rate, slices.Repeat([]float64{-0.1}, 16)...),
			" Measured rates are 1.11 times"},
		{"4 % is no bias, however sure", offBy(TPOT, slices.Repeat([]float64{0.04}, 400)...), ""},
		{"one row is off by what rows of a server differ in", offBy(TPOT, 0.1), ""},
		{"one row is off by far more", offBy(TPOT, 0.5), " Measured TPOTs are 1.65 times"},
		{"rows differ by more than their mean", offBy(TPOT, 0.5, -0.4, 0.6, -0.3), ""},
		{"no rows are known", &Error{Key: plain, Quantity: TPOT}, ""},
	} {
		if got := c.e.biasInWords(); c.want == "" && got != "" ||
			!strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.why, got, c.want)
		}
		if c.want != "" && !strings.Contains(held([]Error{*c.e}, ""), c.want) {
			t.Errorf("%s: the sentence lacks %q", c.why, c.want)
		}
	}
	// The standard error falls with the rows, but not below what machines differ in.
	last := math.Inf(1)
	for _, n := range []int{1, 4, 16, 64, 256} {
		_, standardError := offBy(TTFT, slices.Repeat([]float64{0.1}, n)...).bias()
		if standardError >= last || standardError < leastOwn {
			t.Errorf("%d rows: standard error %g after %g", n, standardError, last)
		}
		last = standardError
	}
}

// What is told is no accident: of the measured servers of which half of the rows tell a bias, the
// other half is off to the same side in nine of ten.
func TestAToldBiasIsFoundAgain(t *testing.T) {
	told, again := 0, 0
	for _, e := range measured() {
		rows := e.Residuals.Rows()
		var halves [2][]float64
		for i, r := range rows {
			halves[i%2] = append(halves[i%2], r.Off)
		}
		if len(halves[1]) == 0 {
			continue
		}
		half, other := offBy(e.Quantity, halves[0]...), offBy(e.Quantity, halves[1]...)
		if half.biasInWords() == "" {
			continue
		}
		told++
		mean, _ := half.moments()
		if rest, _ := other.moments(); mean*rest > 0 {
			again++
		}
	}
	if told < 50 || float64(again) < 0.9*float64(told) {
		t.Errorf("of %d biases that were told, %d were found again", told, again)
	}
}
