package sim

// Source yields requests in order of arrival. Open-loop sources ignore Done; closed-loop ones send
// a user's next request after the last.
type Source interface {
	// NextArrival returns when the next known request arrives, or Never if none is known (for now,
	// if a request is under way). Only Next and Done change it.
	NextArrival() Time
	// Next fills r with the request that NextArrival announced, reusing the space of r.Content. It
	// is called only when NextArrival is not Never. Every field of r but ID, which the simulator
	// sets, is written.
	Next(r *Request)
	// Done is called when r finished or ended without an answer at the time at; arrivals that
	// follow from it must not be earlier than at.
	Done(r *Request, at Time)
	// Err returns what broke the stream (a corrupt trace line, say), or nil. The simulator asks
	// when NextArrival is Never.
	Err() error
}

// silence is a source without requests.
type silence struct{}

func (silence) NextArrival() Time { return Never }

func (silence) Next(*Request) {}

func (silence) Done(*Request, Time) {}

func (silence) Err() error { return nil }
