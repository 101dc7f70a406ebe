package serve

import (
	"errors"
	"net/http"
	"time"
)

// flusher sends events to a client, each as soon as it is there.
type flusher struct {
	w       http.ResponseWriter
	control *http.ResponseController
	// patience bounds how long a client may take to read, and renewed is when it was last given as
	// much.
	patience time.Duration
	renewed  time.Time
	begun    bool
}

// send sends and empties b. The error is errGone where the client does not read.
func (f *flusher) send(b *[]byte) error {
	if len(*b) == 0 {
		return nil
	}
	if !f.begun {
		f.begun = true
		h := f.w.Header()
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no")
	}
	// A deadline costs a timer, so that it is not renewed with every token.
	if now := time.Now(); now.Sub(f.renewed) > f.patience/4 {
		f.renewed = now
		_ = f.control.SetWriteDeadline(now.Add(f.patience))
	}
	_, err := f.w.Write(*b)
	*b = (*b)[:0]
	if err == nil {
		err = f.control.Flush()
	}
	return gone(err)
}

// gone turns an error of writing into errGone.
func gone(err error) error {
	if err != nil {
		return errGone
	}
	return nil
}

// errGone ends a call whose client does not listen any more.
var errGone = errors.New("the client went away")
