package formats

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// What Python writes for numbers that are not finite is null, and the same words within a text are
// as they were.
func TestNumbersThatAreNotFiniteAreNull(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parts, want []string
		for range rapid.IntRange(1, 5).Draw(t, "values") {
			one := rapid.SampledFrom([]string{"NaN", "Infinity", "-Infinity", "-1.5", "text"}).
				Draw(t, "value")
			null := "null"
			if one == "-1.5" {
				null = one
			}
			if one == "text" {
				data, err := json.Marshal(strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
					"NaN", `"`, `\`, "Infinity", " ", "x"}), 0, 5).Draw(t, "text"), ""))
				testkit.OK(t, err)
				one, null = string(data), string(data)
			}
			parts, want = append(parts, one), append(want, null)
		}
		got, err := decode([]byte("[" + strings.Join(parts, ", ") + "] "))
		testkit.OK(t, err)
		plain, err := decode([]byte("[" + strings.Join(want, ",") + "]"))
		testkit.OK(t, err)
		if !reflect.DeepEqual(got, plain) {
			t.Fatalf("%q is %v, want %v", parts, got, plain)
		}
	})
}

// Values, one a line or in a list, are the same objects.
func TestListsAndLinesAreAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "objects")
		lines := strings.TrimSuffix(strings.Repeat("{\"a\":1}\n", n), "\n")
		space := rapid.SampledFrom([]string{"", " ", "\r\n", "\t"}).Draw(t, "space")
		list := contents([]byte(space + "[" + strings.ReplaceAll(lines, "\n", ",") + "]"))
		each := contents([]byte(space + lines))
		if len(each) != n || !reflect.DeepEqual(each, list) {
			t.Fatalf("%v of lines, %v of a list", each, list)
		}
		if text := contents([]byte(space + "x" + lines)); text != nil {
			t.Fatalf("%v of a text", text)
		}
	})
}

// A day is the one that a date says, and nothing where it does not say one.
func TestDays(t *testing.T) {
	for date, want := range map[string]string{"20260801-120000": "2026-08-01",
		"20260801": "2026-08-01", "2026080": "", "2026080x": "", "2026-08-01": "",
		"/0260801": "", ":0260801": "", "00000000": "0000-00-00", "99999999": "9999-99-99"} {
		if got := day(date); got != want {
			t.Errorf("%s is the day %q, want %q", date, got, want)
		}
	}
}
