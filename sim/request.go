package sim

// Request is a request of a user. A Source fills it, and the simulator changes only the ID.
type Request struct {
	// ID numbers requests in order of arrival, from 0.
	ID int64
	// Arrival is when the user sends the request.
	Arrival Time
	// Prompt is the length of the prompt in tokens, at least 1.
	Prompt int
	// Output is the number of tokens that will be generated, at least 1. A scheduler must not read
	// it if it cannot know the length of answers.
	Output int
	// Class is the index of the request's class in the scenario; 0 if there is only one class.
	Class int
	// Tenant is the index of the tenant who sent the request, for fairness policies; 0 if there is
	// only one.
	Tenant int
	// Priority orders requests for priority policies; larger is more urgent, 0 the default.
	Priority int
	// Deadline is the time by which the answer should be complete, for deadline policies; 0 means
	// no limit.
	Deadline Time
	// TTFT is the SLO's limit of the time to first token, for routers and admission; 0 means no
	// limit.
	TTFT Time
	// Session names a conversation, for routers with affinity; 0 means no conversation.
	Session int64
	// Region is the index of the region of the user; 0 if there is only one.
	Region int
	// Model is the index of the requested model among the models that the fleet serves; 0 if there
	// is only one.
	Model int
	// Adapter is the number of the adapter (LoRA) that the request asks for, from 1; 0 means the
	// model itself.
	Adapter int
	// Patience is the time that the user waits for the whole answer before the request is
	// cancelled; 0 means without limit. It counts from the arrival, unless AfterFirst is set.
	Patience Time
	// Content describes the prompt for prefix caches as runs of tokens from the start; empty means
	// that no other prompt shares anything with it. Lengths sum to at most Prompt; the rest is
	// unique to this request.
	Content []Segment
	// Answer is the segment ID that the generated tokens will have when a later prompt of the
	// session repeats them; 0 means that no segment does.
	Answer uint64
	// Call is the place of the request in its session.
	Call Call
	// AfterFirst lets Patience count from the moment at which the user has the first token.
	AfterFirst bool
	// Whole gives the user the answer as a whole, when its last token is there.
	Whole bool
	// Answered is the number of tokens that the user had of the answer when the request ended:
	// Output, or fewer where it ended before. The simulator sets it before Source.Done.
	Answered int
}

// Call is the place of a request among the requests of a session, which call the model once each.
type Call struct {
	// Number is the number of the call in its session, from 1; 0 if the calls of the session are
	// not known, or it has no further call.
	Number int32
	// Turn is the number of calls before it whose text its prompt repeats.
	Turn int32
	// Of is the number of calls of the session.
	Of int32
}

// Segment is a run of tokens with an identity: two prompts share a prefix as far as their segments
// are equal.
type Segment struct {
	// ID names the text. Segments with the same ID hold the same tokens from their start.
	ID uint64
	// Tokens is the length of the run, at least 1.
	Tokens int
}

// Rejection is the reason why a request ends without an answer.
type Rejection int

// Reasons for a rejection.
const (
	// TooLong means that prompt and answer together exceed the longest context served.
	TooLong Rejection = iota
	// TooLarge means that the KV cache of the request does not fit into the memory of the replica,
	// even alone.
	TooLarge
	// Refused means that admission control turned the request away.
	Refused
	// Unavailable means that no replica serves the model or will serve it.
	Unavailable
	// TimedOut means that the request waited longer than Config.QueueTimeout for its first step.
	TimedOut
	// Cancelled means that the user did not wait for the answer, see Request.Patience. If the user
	// left in the middle of it, Request.Answered is above 0.
	Cancelled
	// Lost means that replicas failed while they had the request, more often than Config.Retry
	// allows.
	Lost
)

// Rejections is the number of reasons for a rejection.
const Rejections = int(Lost) + 1

// String returns the reason in words.
func (r Rejection) String() string {
	switch r {
	case TooLong:
		return "longer than the context served"
	case TooLarge:
		return "larger than the KV memory"
	case Refused:
		return "refused by admission control"
	case Unavailable:
		return "no replica available"
	case TimedOut:
		return "timed out in the queue"
	case Cancelled:
		return "cancelled by the user"
	case Lost:
		return "lost in a failure"
	}
	return "unknown reason"
}
