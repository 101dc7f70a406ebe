package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/llmsim/llmsim/internal/files"
)

// maxConfigBytes is the longest config.json that is read: lists of excluded modules, layer by
// layer, take some MB.
const maxConfigBytes = 16 << 20

// decodeObject reads one JSON object as Python's json module and editors write it: comments are
// skipped, Infinity and NaN are strings. Numbers are kept as they are written. A key that is given
// twice is an error.
func decodeObject(r io.Reader) (map[string]any, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxConfigBytes+1))
	if err != nil {
		return nil, err
	}
	if len(raw) > maxConfigBytes {
		return nil, fmt.Errorf("more than %d bytes: not a config.json", maxConfigBytes)
	}
	// some editors begin with a mark of the byte order
	data := plainJSON(bytes.TrimPrefix(raw, []byte("\ufeff")))
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, describeJSONError(data, err)
	}
	values, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("found %s, want a JSON object", describe(value))
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("line %d: found more after the JSON object",
			lineAt(data, d.InputOffset()))
	}
	return values, files.CheckKeys(data)
}

// plainJSON returns data with spaces for comments, and strings for Infinity, -Infinity and NaN,
// which keep their lines.
func plainJSON(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for len(data) > 0 {
		n, text := plainToken(data)
		out = append(out, text...)
		data = data[n:]
	}
	return out
}

// plainToken returns how many bytes of data the next piece has, and what it means.
func plainToken(data []byte) (int, []byte) {
	switch {
	case data[0] == '"':
		return plainString(data)
	case bytes.HasPrefix(data, []byte("//")):
		return upTo(data, bytes.IndexByte(data, '\n')), nil
	case bytes.HasPrefix(data, []byte("/*")):
		end := bytes.Index(data[2:], []byte("*/"))
		if end < 0 {
			return len(data), nil
		}
		return end + 4, bytes.Repeat([]byte("\n"), bytes.Count(data[:end+4], []byte("\n")))
	}
	for _, word := range []string{"-Infinity", "Infinity", "NaN"} {
		if bytes.HasPrefix(data, []byte(word)) {
			return len(word), []byte(`"` + word + `"`)
		}
	}
	return 1, data[:1]
}

// plainString returns the string that data begins with.
func plainString(data []byte) (int, []byte) {
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1, data[:i+1]
		}
	}
	return len(data), data
}

func upTo(data []byte, n int) int {
	if n < 0 {
		return len(data)
	}
	return n
}

// describeJSONError says in which line the JSON is wrong.
func describeJSONError(data []byte, err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %w", lineAt(data, syntax.Offset), err)
	case len(bytes.TrimSpace(data)) == 0:
		return errors.New("the file is empty")
	}
	return fmt.Errorf("line %d: the file ends inside the JSON object",
		lineAt(data, int64(len(data))))
}

// lineAt returns the number, from 1, of the line that has the byte at the offset.
func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n"))
}
