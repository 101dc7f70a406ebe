package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/sim"
)

// shareGPT reads lengths without times: JSON objects, in an array or one after another.
type shareGPT struct {
	file    *file
	decoder *json.Decoder
	newline *newlines
	// asked says that the format was named, so that keys with times are left aside on purpose.
	asked bool
	// array says that the objects are in an array, and entries counts them.
	array   bool
	entries int
}

func fitsShareGPT(head []byte) bool { return head[0] == '[' || head[0] == '{' }

func newShareGPT(f *file, o Options, _ *Counts) (decoder, error) {
	head, err := f.head()
	if err != nil {
		return nil, err
	}
	n := &newlines{in: f.in, left: maxLine}
	s := &shareGPT{file: f, newline: n, decoder: json.NewDecoder(n), asked: o.Format != ""}
	// An array may hold pairs, which are arrays too: only the file's first bracket opens the list.
	if head[0] == '[' {
		s.array = true
		if _, err := s.decoder.Token(); err != nil {
			return nil, s.errorf("not valid JSON: %w", err)
		}
	}
	return s, nil
}

func (s *shareGPT) timed() bool { return false }

// entry returns the next entry.
func (s *shareGPT) entry() (json.RawMessage, error) {
	s.newline.left = maxLine
	if !s.decoder.More() {
		return nil, s.end()
	}
	s.entries++
	var entry json.RawMessage
	if err := s.decoder.Decode(&entry); err != nil {
		if errors.Is(err, errLong) {
			return nil, s.errorf("%w", err)
		}
		return nil, s.errorf("not valid JSON: %w", err)
	}
	return entry, nil
}

// object reads the next entry, which is an object, into the fields of v.
func (s *shareGPT) object(v any) error {
	entry, err := s.entry()
	if err != nil {
		return err
	}
	if err := files.CheckFields(entry); err != nil {
		return s.errorf("%w", err)
	}
	if err := json.Unmarshal(entry, v); err != nil {
		return s.errorf("%w", jsonError(err))
	}
	return nil
}

func (s *shareGPT) decode(r *sim.Request) error {
	entry, err := s.entry()
	if err != nil {
		return err
	}
	var keys map[string]json.RawMessage // of an object
	if entry[0] == '{' {
		if err := files.CheckKeys(entry); err != nil {
			return s.errorf("%w", err)
		}
		if err := json.Unmarshal(entry, &keys); err != nil {
			return s.errorf("%w", jsonError(err))
		}
	}
	if key := timeKey(keys); key != "" && !s.asked {
		return s.errorf("found the key %.60q, which looks like a time, and no format reads it; "+
			"give times as arrival_s of a CSV (see llmsim), or name the format sharegpt to take "+
			"the lengths alone", key)
	}
	prompt, output, err := entryLengths(entry, keys)
	if err != nil {
		return s.errorf("%w", err)
	}
	if r.Prompt, err = length("prompt", prompt); err == nil {
		r.Output, err = length("output", output)
	}
	if total, ok := keys["total_tokens"]; ok && err == nil {
		if sum := strconv.Itoa(r.Prompt + r.Output); sum != string(total) {
			err = fmt.Errorf("total_tokens: found %.60s, allowed: %s, the sum of prompt and "+
				"output", total, sum)
		}
	}
	if err != nil {
		return s.errorf("%w", err)
	}
	return nil
}

// timeKey returns the first key whose name is one of a time, in whatever spelling; empty without
// one.
func timeKey(keys map[string]json.RawMessage) string {
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		name := strings.ToLower(key)
		if slices.Contains([]string{"ts", "t", "at", "start", "end", "begin", "created"}, name) ||
			slices.ContainsFunc([]string{"time", "stamp", "arriv", "date", "_at"},
				func(part string) bool { return strings.Contains(name, part) }) {
			return key
		}
	}
	return ""
}

// end checks that the array is closed, and that nothing follows it.
func (s *shareGPT) end() error {
	_, err := s.decoder.Token()
	closed := !s.array || err == nil
	if s.array && closed {
		_, err = s.decoder.Token()
	}
	switch {
	case err == io.EOF && closed:
		return io.EOF
	case errors.Is(err, errLong):
		return s.errorf("%w", err)
	}
	return s.errorf("not valid JSON: the file is cut short or goes on after its end")
}

// errorf returns an error at the line where the decoder is.
func (s *shareGPT) errorf(format string, args ...any) error {
	ahead, _ := io.ReadAll(s.decoder.Buffered())
	s.file.line = 1 + s.newline.count - bytes.Count(ahead, []byte("\n"))
	return s.file.errorf("entry %d: %w", s.entries, fmt.Errorf(format, args...))
}

// newlines counts the lines that pass through, and bounds what passes through for one entry.
type newlines struct {
	in    io.Reader
	count int
	left  int // bytes
}

var errLong = fmt.Errorf("found an entry, or a gap between two, of more than %d bytes", maxLine)

func (n *newlines) Read(p []byte) (int, error) {
	if n.left <= 0 {
		return 0, errLong
	}
	read, err := n.in.Read(p[:min(len(p), n.left)])
	n.left -= read
	n.count += bytes.Count(p[:read], []byte("\n"))
	return read, err
}

// Keys under which files keep the two lengths.
func promptKeys() []string {
	return []string{"prompt_len", "prompt_tokens", "input_len", "input_length", "input_tokens"}
}

func outputKeys() []string {
	return []string{"output_len", "output_tokens", "output_length", "completion_tokens"}
}

// entryLengths finds the prompt and output length of an entry, which has the keys if it is an
// object.
func entryLengths(entry json.RawMessage, keys map[string]json.RawMessage) (prompt,
	output json.RawMessage, err error) {
	if entry[0] == '[' {
		var pair []json.RawMessage
		if err := json.Unmarshal(entry, &pair); err != nil || len(pair) != 2 {
			return nil, nil, fmt.Errorf(
				"found a list of %d, allowed: pairs of prompt and output length", len(pair))
		}
		return pair[0], pair[1], nil
	}
	if keys == nil {
		return nil, nil, errors.New("found neither an object nor a pair of lengths")
	}
	if messages, ok := keys["conversations"]; ok {
		return firstExchange(messages)
	}
	if prompt, err = lookUp(keys, promptKeys()); err != nil {
		return nil, nil, err
	}
	output, err = lookUp(keys, outputKeys())
	return prompt, output, err
}

// firstExchange takes the first two messages of a conversation as prompt and answer.
func firstExchange(messages json.RawMessage) (prompt, output json.RawMessage, err error) {
	var list []struct {
		Tokens json.RawMessage `json:"tokens"`
	}
	if err := json.Unmarshal(messages, &list); err != nil || len(list) < 2 {
		return nil, nil, fmt.Errorf(
			"conversations: found %d messages, allowed: lists of at least 2 objects", len(list))
	}
	for _, m := range list[:2] {
		if len(m.Tokens) == 0 {
			return nil, nil, errors.New(
				`conversations: found a message without "tokens"; texts must be counted with a tokenizer first`)
		}
	}
	return list[0].Tokens, list[1].Tokens, nil
}

// lookUp returns the value of the first of the names that is there.
func lookUp(keys map[string]json.RawMessage, names []string) (json.RawMessage, error) {
	for _, name := range names {
		if value, ok := keys[name]; ok {
			return value, nil
		}
	}
	return nil, fmt.Errorf("found no %s, allowed: one of %s", names[0], strings.Join(names, ", "))
}

// length reads a number of tokens.
func length(what string, value json.RawMessage) (int, error) {
	var n int64
	if err := json.Unmarshal(value, &n); err != nil || n < 0 || n > maxTokens || value[0] == 'n' {
		return 0, fmt.Errorf("%s length: found %.60s, allowed: whole numbers from 0 to %d", what,
			value, maxTokens)
	}
	return int(n), nil
}
