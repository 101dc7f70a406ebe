package serve

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/llmsim/llmsim/internal/text"
)

// Config describes a server.
type Config struct {
	Backend Backend
	// Vocabulary turns texts into tokens and back. Words makes up texts from the same vocabulary;
	// it is nil if the backend computes them.
	Vocabulary Vocabulary
	// Lengths are the lengths in tokens, at least one, for answers whose request gives no length.
	// Seed is the seed of made-up texts.
	Words   *text.Vocabulary
	Lengths []int
	Seed    uint64
	// APIKey must be part of every request that does work; empty means that no key is needed.
	APIKey string
	Limits Limits
	// Warn, if set, is told when the times that clients see can no longer be trusted.
	Warn func(message string)
	// Log gets a line for every request that generates; nil means no log.
	Log *slog.Logger
	// Spans, if set, gets a span for every request that generates.
	Spans *Spans
	// Version is the answer of /version.
	Version string
	// Metrics answers /metrics, and Control answers paths that begin with /llmsim/. Both may be
	// nil.
	Metrics http.Handler
	Control http.Handler
}

// Limits bound the resources that clients can use.
type Limits struct {
	// BodyBytes is the largest size of a body. BodyTime is the longest time to read a body, and
	// WriteTime the longest time in which a client must read what was sent.
	BodyBytes           int64
	BodyTime, WriteTime time.Duration
	// HeaderTime is the longest time to read a request's head, and HeaderBytes the largest size of
	// a head. IdleTime bounds how long a connection is kept between requests.
	HeaderTime, IdleTime time.Duration
	HeaderBytes          int
	// Connections is the largest number of connections, and Requests the largest number of answers
	// in progress.
	Connections, Requests int
	// DrainTime bounds how long answers in progress may take after the server was told to stop.
	// Then they are cut off.
	DrainTime time.Duration
}

// DefaultLimits returns limits for a model with the given context. A prompt of that many tokens
// fits into a body: a token is four or five bytes of text on average, and up to seven as a number.
func DefaultLimits(context int) Limits {
	return Limits{
		BodyBytes: 1<<20 + 16*int64(context), BodyTime: 30 * time.Second,
		WriteTime:  30 * time.Second,
		HeaderTime: 10 * time.Second, IdleTime: 2 * time.Minute, HeaderBytes: 64 << 10,
		Connections: 16384, Requests: 16384, DrainTime: 30 * time.Second,
	}
}
