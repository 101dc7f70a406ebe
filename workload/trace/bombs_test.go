package trace

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/llmsim/llmsim/internal/testkit"
)

// endless repeats a text.
type endless struct{ text string }

// Read fills p.
func (e endless) Read(p []byte) (int, error) {
	for n := 0; n < len(p); {
		n += copy(p[n:], e.text)
	}
	return len(p), nil
}

// bomb is a gzip file that begins with a text and goes on with a gigabyte of another.
func bomb(t *testing.T, head, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.Copy(w, io.MultiReader(strings.NewReader(head),
		io.LimitReader(endless{text}, 1<<30)))
	if err == nil {
		err = w.Close()
	}
	testkit.OK(t, err)
	return b.Bytes()
}

// A few megabytes of gzip that unpack to a gigabyte take little memory and time, and the error
// names file and bound.
func TestGzipBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("makes bombs of a gigabyte")
	}
	for name, c := range map[string]struct{ head, text, want string }{
		"one string": {`[{"prompt_len": "`, strings.Repeat("A", 1000), "of more than"},
		"one string, CSV": {"arrival_s,prompt_tokens,output_tokens\n1,2,",
			strings.Repeat("A", 1000), "of more than"},
		"one field": {
			`{"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [`,
			strings.Repeat("1,", 1000), "of more than"},
		"columns": {"arrival_s,prompt_tokens,output_tokens", strings.Repeat(",a", 1000),
			"of more than"},
		"brackets": {"[", strings.Repeat("[", 1000), ""},
		"empty lines": {"arrival_s,prompt_tokens,output_tokens\n",
			strings.Repeat("\n", 1000), "empty lines"},
		"empty lines at once": {"", strings.Repeat("\n", 1000), ""},
		"gap": {`[{"prompt_len": 1, "output_len": 1}, `,
			strings.Repeat("\n ", 1000), "a gap between two"},
	} {
		path := save(t, bomb(t, c.head, c.text))
		testkit.Bounded(t, 0, func() {
			_, _, err := read(path, Options{})
			if err == nil || !strings.Contains(err.Error(), path) ||
				!strings.Contains(err.Error(), c.want) || len(err.Error()) > 1000 {
				t.Errorf("%s: %.1000v", name, err)
			}
		})
	}
}

// A column or a key that is there twice is refused, whichever of the two is meant.
func TestColumnsThatAreThereTwice(t *testing.T) {
	for _, columns := range []string{"arrival_s,prompt_tokens,output_tokens,prompt_tokens",
		"arrival_s,prompt_tokens,output_tokens,Class,class"} {
		_, _, err := read(save(t, []byte(columns+"\n1,1,1,1,1\n")), Options{})
		if err == nil || !strings.Contains(err.Error(), "twice") {
			t.Errorf("%s: %v", columns, err)
		}
	}
	for text, want := range map[string]string{
		`[{"prompt_len": 1, "output_len": 1, "prompt_len": 2}]`:                      `"prompt_len" is given twice`,
		`{"timestamp": 0, "input_length": 1, "output_length": 1, "Input_length": 2}`: `:1: the key "Input_length" is given twice`,
	} {
		_, _, err := read(save(t, []byte(text)), Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
