package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"

	"github.com/llmsim/llmsim/internal/twin/observed"
)

// Options say how a file is read. The zero value finds the format by itself.
type Options struct {
	// Format is one of Names; empty means that the file decides.
	Format string
	// Columns names the column of a CSV file for each field that has another name than Fields
	// lists.
	Columns map[string]string
}

// mostBytes bounds a file, before and after it is unpacked.
const mostBytes = 256 << 20

// mostEntries bounds the requests, steps or intervals of a file.
const mostEntries = 2_000_000

// input is a file that is read.
type input struct {
	name    string
	data    []byte
	options *Options
	out     *observed.Observed
	source  *observed.Source
}

// found notes what the file has.
func (in *input) found(format string, args ...any) {
	in.source.Found = fmt.Sprintf(format, args...)
}

// addNote adds a remark on the file.
func (in *input) addNote(format string, args ...any) {
	words := fmt.Sprintf(format, args...)
	if !slices.Contains(in.source.Notes, words) && len(in.source.Notes) < 20 {
		in.source.Notes = append(in.source.Notes, words)
	}
}

// lack adds what the file does not say.
func (in *input) lack(format string, args ...any) {
	words := fmt.Sprintf(format, args...)
	if !slices.Contains(in.out.Lacks, words) {
		in.out.Lacks = append(in.out.Lacks, words)
	}
}

// errorf returns an error that names the file.
func (in *input) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", in.name, fmt.Errorf(format, args...))
}

// head returns the start of a file, by which its format is found.
func head(data []byte) []byte { return data[:min(len(data), 1<<16)] }

// object is a JSON object. Numbers are kept as text, since nanoseconds since 1970 are more than a
// floating number holds.
type object map[string]any

// at returns the object at a path of keys; nil, whose values are all absent, without one.
func (o object) at(path ...string) object {
	for _, key := range path {
		next, _ := o[key].(map[string]any)
		o = next
	}
	return o
}

// number returns the number at a key; 0 if it is absent, negative or not finite.
func (o object) number(key string) float64 {
	n, _ := o[key].(json.Number)
	v, err := n.Float64()
	if err != nil || !observed.Finite(v) {
		return 0
	}
	return v
}

// count returns the whole number at a key, at most 2^31.
func (o object) count(key string) int { return int(min(o.number(key), 1<<31)) }

// nanoseconds returns the time at a key since an origin, which the first call sets, in seconds.
func (o object) nanoseconds(key string, origin **big.Int) float64 {
	n, _ := o[key].(json.Number)
	v, ok := new(big.Int).SetString(n.String(), 10)
	if !ok || len(n) > 30 {
		return 0
	}
	if *origin == nil {
		*origin = v
	}
	seconds, _ := new(big.Rat).SetFrac(new(big.Int).Sub(v, *origin), big.NewInt(1e9)).Float64()
	return seconds
}

func (o object) text(key string) string {
	s, _ := o[key].(string)
	if len(s) > 200 {
		s = s[:200]
	}
	return s
}

// list returns the objects of a list.
func (o object) list(key string) []object {
	values, _ := o[key].([]any)
	return objects(values)
}

func objects(values []any) []object {
	var list []object
	for _, v := range values {
		if one, ok := v.(map[string]any); ok {
			list = append(list, one)
		}
	}
	return list
}

// numbers returns the elements of a list, with 0 for an element that is not a number.
func (o object) numbers(key string) []float64 {
	values, _ := o[key].([]any)
	list := make([]float64, len(values))
	for i, v := range values {
		list[i] = object{"": v}.number("")
	}
	return list
}

func (o object) has(keys ...string) bool {
	for _, key := range keys {
		if _, ok := o[key]; !ok {
			return false
		}
	}
	return true
}

// decode reads the values of a file: one, or one a line.
func decode(data []byte) ([]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(finite(data)))
	decoder.UseNumber()
	var list []any
	for {
		var v any
		err := decoder.Decode(&v)
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if list = append(list, v); len(list) > mostEntries {
			return nil, errors.New("too many values")
		}
	}
}

// finite replaces Infinity and NaN, which Python writes and JSON does not have, by null.
func finite(data []byte) []byte {
	if !bytes.Contains(data, []byte("Infinity")) && !bytes.Contains(data, []byte("NaN")) {
		return data
	}
	out := make([]byte, 0, len(data))
	inside := false
	for i := 0; i < len(data); i++ {
		switch {
		case inside && data[i] == '\\' && i+1 < len(data):
			out = append(out, data[i], data[i+1])
			i++
			continue
		case data[i] == '"':
			inside = !inside
		case !inside:
			word := ""
			for _, w := range []string{"-Infinity", "Infinity", "NaN"} {
				if bytes.HasPrefix(data[i:], []byte(w)) {
					word = w
					break
				}
			}
			if word != "" {
				out = append(out, "null"...)
				i += len(word) - 1
				continue
			}
		}
		out = append(out, data[i])
	}
	return out
}

// contents returns the objects of a JSON file; nothing if it is not JSON.
func contents(data []byte) []object {
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' {
		return nil
	}
	values, err := decode(data)
	if err != nil {
		return nil
	}
	if list, ok := values[0].([]any); ok && len(values) == 1 {
		values = list
	}
	return objects(values)
}
