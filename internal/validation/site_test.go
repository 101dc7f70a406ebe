package validation

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// The page has every served row of the cited tables with its range, needs nothing from a network,
// and a table cannot end its script.
func TestPageHasEveryRow(t *testing.T) {
	data, err := Read(Cited())
	testkit.OK(t, err)
	report, err := data.Compare(t.Context(), accuracy.Physics{})
	testkit.OK(t, err)
	want := 0
	for i := range report.Tables {
		for j := range report.Tables[i].Rows {
			if c := &report.Tables[i].Rows[j]; c.Engine != "" {
				want++
				c.Case += "</script><script>alert(1)</script>"
			}
		}
	}
	var b bytes.Buffer
	testkit.OK(t, WriteSite(&b, report))
	text := b.String()
	if strings.Contains(text, "alert(1)</script>") {
		t.Error("a case of a table ends the script")
	}
	if m := regexp.MustCompile(`(src|href)="|@import`).FindString(text); m != "" {
		t.Errorf("the page refers to something outside: %s", m)
	}
	_, rest, _ := strings.Cut(text, `id="data">`)
	document, _, _ := strings.Cut(rest, "</script>")
	var c sitePage
	testkit.OK(t, json.Unmarshal([]byte(document), &c))
	ranged := 0
	for _, row := range c.Rows {
		if row[11] != nil {
			ranged++
			if low, high := row[11].(float64), row[12].(float64); !(low > 0 && low < high) {
				t.Errorf("the range of %v is %g to %g", row, low, high)
			}
		}
	}
	if len(c.Rows) != want || ranged == 0 {
		t.Errorf("%d rows, %d with a range; want %d", len(c.Rows), ranged, want)
	}
}

func TestDigits(t *testing.T) {
	for x, want := range map[float64]float64{1234.56: 1235, 0.0012345: 0.001235, 0: 0} {
		if got := digits(x); math.Abs(got-want) > 1e-12 {
			t.Errorf("%g has the digits %g, want %g", x, got, want)
		}
	}
}
