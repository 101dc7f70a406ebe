package sim

// Request is what a user asks for. A Source fills it; the simulator never changes it.
type Request struct {
	// ID numbers requests in order of arrival, from 0.
	ID int64
	// Arrival is when the user sends the request.
	Arrival Time
	// Prompt is the length of the prompt in tokens, at least 1.
	Prompt int
	// Output is the number of tokens that will be generated, at least 1. Schedulers that may not
	// know it must not read it.
	Output int
	// Class indexes the scenario's request classes; 0 where there is one class.
	Class int
	// Tenant indexes who pays, for fairness policies; 0 where there is one tenant.
	Tenant int
	// Priority orders requests for priority policies; larger is more urgent, 0 the default.
	Priority int
	// Deadline is when the answer should be complete, for deadline policies; 0 means none.
	Deadline Time
	// TTFT is the time to first token of the SLO, for routers and admission; 0 means none.
	TTFT Time
	// Session names a conversation, for routers with affinity; 0 means none.
	Session int64
	// Model indexes the models that the fleet serves; 0 where there is one.
	Model int
	// Patience is how long the user waits for the whole answer before going away; 0 means for ever.
	Patience Time
	// Content describes the prompt for prefix caches as runs of tokens from the start; empty means
	// that no other prompt shares anything with it. Lengths sum to at most Prompt; the rest is
	// unique to this request.
	Content []Segment
	// Answer is the segment ID that the generated tokens will have when a later prompt of the
	// session repeats them; 0 means that none does.
	Answer uint64
}

// Segment is a run of tokens with an identity: two prompts share a prefix as far as their segments
// are equal.
type Segment struct {
	// ID names the text. Segments with the same ID hold the same tokens from their start.
	ID uint64
	// Tokens is the length of the run, at least 1.
	Tokens int
}

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
