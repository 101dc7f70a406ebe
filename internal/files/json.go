package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// CheckKeys reports the first key that an object of a JSON document has twice, of which readers
// would take one or the other. The error names its line. Whether the document is JSON at all is for
// others to say.
func CheckKeys(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var open []map[string]bool // the keys of the objects that are open; nil for a list
	key := false               // a key is next
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) || err != nil {
			return nil
		}
		top := len(open) - 1
		switch t := token.(type) {
		case json.Delim:
			switch t {
			case '{':
				open = append(open, map[string]bool{})
			case '[':
				open = append(open, nil)
			default:
				open = open[:top]
			}
			key = len(open) > 0 && open[len(open)-1] != nil
			continue
		case string:
			if key {
				if open[top][t] {
					line := 1 + bytes.Count(data[:d.InputOffset()], []byte("\n"))
					return fmt.Errorf("line %d: the key %.60q is given twice", line, t)
				}
				open[top][t] = true
				key = false
				continue
			}
		}
		key = top >= 0 && open[top] != nil
	}
}
