package files

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A document is refused if and only if one of its objects has a key twice, however deep, and
// whatever its values are.
func TestKeysThatAreGivenTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		twice := false
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
				return rapid.SampledFrom([]string{`"a"`, `"b"`, `"\u0061"`, `"{"`}).Draw(t, "text")
			case 3:
				for range rapid.IntRange(0, 3).Draw(t, "items") {
					parts = append(parts, value(depth-1))
				}
				return "[" + strings.Join(parts, ",\n") + "]"
			}
			seen := map[string]bool{}
			for range rapid.IntRange(0, 3).Draw(t, "keys") {
				key := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "key")
				twice = twice || seen[key]
				seen[key] = true
				parts = append(parts, fmt.Sprintf("%q: %s", key, value(depth-1)))
			}
			return "{" + strings.Join(parts, ", ") + "}"
		}
		text := value(4)
		if err := CheckKeys([]byte(text)); (err != nil) != twice {
			t.Fatalf("%s: %v", text, err)
		}
	})
	err := CheckKeys([]byte("{\"a\": 1,\n\"b\": {\"a\": 2},\n\"\\u0061\": 3}"))
	if err == nil || !strings.Contains(err.Error(), `line 3: the key "a"`) {
		t.Error(err)
	}
}
