package generate

import (
	"fmt"
	"io"
	"slices"

	"github.com/llmsim/llmsim/internal/text"
)

// output writes tokens as text, up to the first stop text.
type output struct {
	w     io.Writer
	words *text.Tokenizer // nil: tokens are written as numbers
	stop  *text.Stopper
	begun bool
}

func newOutput(w io.Writer, words *text.Tokenizer, stop []string) *output {
	stop = slices.DeleteFunc(slices.Clone(stop), func(s string) bool { return s == "" })
	return &output{w: w, words: words, stop: text.NewStopper(stop, 0)}
}

// write adds a token and reports whether a stop text is complete.
func (o *output) write(token int32) (stopped bool, err error) {
	piece := fmt.Append(nil, token)
	switch {
	case o.words != nil:
		if piece, err = o.words.Decode(token); err != nil {
			return false, err
		}
	case o.begun:
		piece = append([]byte{' '}, piece...)
	}
	o.begun = true
	_, err = io.WriteString(o.w, o.stop.Next(string(piece)))
	return o.stop.By != nil, err
}

// flush writes what is held back.
func (o *output) flush() error {
	_, err := io.WriteString(o.w, o.stop.Rest())
	return err
}
