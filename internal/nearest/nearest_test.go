package nearest

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	known := []string{"a100-80gb-sxm", "a100-80gb-pcie", "h100-sxm", "h200-sxm", "b200",
		"bandwidth"}
	for _, test := range []struct {
		name string
		want []string
	}{
		{"bandwith", []string{"bandwidth"}},
		{"bnadwidth", []string{"bandwidth"}},
		{"H100-SXM", []string{"h100-sxm", "h200-sxm"}},
		{"a100-80gb", []string{"a100-80gb-sxm", "a100-80gb-pcie"}},
		{"b300", []string{"b200"}},
		{"x", nil},
		{"", nil},
	} {
		if got := Names(test.name, known); !slices.Equal(got, test.want) {
			t.Errorf("Names(%q) = %q, want %q", test.name, got, test.want)
		}
	}
}

// The distance is symmetric, 0 only for equal strings, and within the bounds that their lengths
// set.
func TestDistance(t *testing.T) {
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abc-")), 0, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := distance(a, b)
		if back := distance(b, a); back != d {
			t.Fatalf("distance %d there and %d back", d, back)
		}
		if (d == 0) != (a == b) {
			t.Fatalf("distance %d between %q and %q", d, a, b)
		}
		longer, shorter := max(len(a), len(b)), min(len(a), len(b))
		if d > longer || d < longer-shorter {
			t.Fatalf("distance %d between words of %d and %d letters", d, longer, shorter)
		}
	})
}

// One typing mistake is a distance of one.
func TestOneMistake(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-z]{2,8}`).Draw(t, "word")
		at := rapid.IntRange(0, len(word)-2).Draw(t, "at")
		for _, mistaken := range []string{
			word[:at] + "-" + word[at:],
			word[:at] + word[at+1:],
			word[:at] + "-" + word[at+1:],
			word[:at] + word[at+1:at+2] + word[at:at+1] + word[at+2:],
		} {
			if d := distance(word, mistaken); d > 1 {
				t.Errorf("distance %d between %q and %q", d, word, mistaken)
			}
		}
	})
}

func TestUnknownListsAllWhereNoneIsNear(t *testing.T) {
	if got := Unknown("link", "zzz", []string{"pcie4", "nvlink3"}); !strings.HasSuffix(got,
		"known: pcie4, nvlink3") {
		t.Error(got)
	}
}
