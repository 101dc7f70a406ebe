package generate

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/llmsim/llmsim/internal/text"
)

// output writes tokens as text. It holds back what may become a stop text, and bytes that are not
// yet a whole character.
type output struct {
	w     io.Writer
	words *text.Tokenizer // nil: tokens are written as numbers
	stop  [][]byte
	held  []byte
	begun bool
}

func newOutput(w io.Writer, words *text.Tokenizer, stop []string) *output {
	o := &output{w: w, words: words}
	for _, s := range stop {
		if s != "" {
			o.stop = append(o.stop, []byte(s))
		}
	}
	return o
}

// write adds a token and reports whether a stop text is complete.
func (o *output) write(token int32) (stopped bool, err error) {
	if o.words == nil {
		if o.begun {
			o.held = append(o.held, ' ')
		}
		o.held = fmt.Append(o.held, token)
	} else {
		text, err := o.words.Decode(token)
		if err != nil {
			return false, err
		}
		o.held = append(o.held, text...)
	}
	o.begun = true
	end := -1
	for _, s := range o.stop {
		if i := bytes.Index(o.held, s); i >= 0 && (end < 0 || i < end) {
			end = i
		}
	}
	if end >= 0 {
		o.held = o.held[:end]
		return true, o.flush()
	}
	ready := len(o.held) - o.unfinished()
	_, err = o.w.Write(o.held[:ready])
	o.held = append(o.held[:0], o.held[ready:]...)
	return false, err
}

// unfinished returns how many bytes at the end must wait for the next token.
func (o *output) unfinished() int {
	wait := 0
	for _, s := range o.stop {
		for n := min(len(s)-1, len(o.held)); n > wait; n-- {
			if bytes.HasSuffix(o.held, s[:n]) {
				wait = n
			}
		}
	}
	for n := 1; n < utf8.UTFMax && n <= len(o.held); n++ {
		if tail := o.held[len(o.held)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				wait = max(wait, n)
			}
			break
		}
	}
	return wait
}

// flush writes what is held back.
func (o *output) flush() error {
	_, err := o.w.Write(o.held)
	o.held = o.held[:0]
	return err
}
