package files

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/testkit"
)

// A document is refused if and only if one of its objects has a key twice, however deep, and
// whatever its values are; where fields are looked for, large and small letters are the same.
func TestKeysThatAreGivenTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		twice, alike := false, false
		var value func(depth int) string
		value = func(depth int) string {
			kind := rapid.IntRange(0, 4).Draw(t, "kind")
			if depth == 0 {
				kind = min(kind, 2)
			}
			var parts []string
			switch kind {
			case 0:
				return rapid.SampledFrom([]string{"1", "-2e9", "true", "null"}).Draw(t, "word")
			case 1, 2:
				return rapid.SampledFrom([]string{`"a"`, `"b"`, `"\u0061"`, `"{"`, `"\\"`, `",\""`}).Draw(t, "text")
			case 3:
				for range rapid.IntRange(0, 3).Draw(t, "items") {
					parts = append(parts, value(depth-1))
				}
				return "[" + strings.Join(parts, ",\n") + "]"
			}
			seen, folded := map[string]bool{}, map[string]bool{}
			for range rapid.IntRange(0, 3).Draw(t, "keys") {
				key := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "A", "k", "\u212a", `\`,
					`"`, "{"}).Draw(t, "key")
				twice = twice || seen[key]
				seen[key] = true
				letter := strings.ToLower(key)
				alike = alike || folded[letter]
				folded[letter] = true
				parts = append(parts, fmt.Sprintf("%s: %s", spelled(t, key), value(depth-1)))
			}
			return "{" + strings.Join(parts, ", ") + "}"
		}
		text := value(4)
		if err := CheckKeys([]byte(text)); (err != nil) != twice {
			t.Fatalf("%s: %v", text, err)
		}
		if err := CheckFields([]byte(text)); (err != nil) != alike {
			t.Fatalf("%s: fields: %v", text, err)
		}
	})
	err := CheckKeys([]byte("{\"a\": 1,\n\"b\": {\"a\": 2},\n\"\\u0061\": 3}"))
	if err == nil || !strings.Contains(err.Error(), `line 3: the key "a"`) {
		t.Error(err)
	}
}

// spelled is a key in JSON, perhaps with its letters as numbers.
func spelled(t *rapid.T, key string) string {
	if rapid.Bool().Draw(t, "numbers") {
		var b strings.Builder
		for _, r := range key {
			fmt.Fprintf(&b, "\\u%04x", r)
		}
		return `"` + b.String() + `"`
	}
	return fmt.Sprintf("%q", key)
}

// What is not JSON is for others to say, and breaks nothing.
func FuzzCheckKeys(f *testing.F) {
	f.Add([]byte(`{"a": "\\", "b`))
	f.Add([]byte("]}{\"\\"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var document any
		var wrong error
		testkit.Bounded(t, len(data), func() { wrong = CheckKeys(data) })
		if json.Unmarshal(data, &document) == nil && CheckFields(data) == nil && wrong != nil {
			t.Errorf("%q: keys are the same and fields are not: %v", data, wrong)
		}
	})
}
