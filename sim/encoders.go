package sim

// Encoders are accelerators apart from the replicas, which encode the images and sounds of requests
// on arrival. Then the requests go to replicas, with their encodings.
type Encoders struct {
	// Number is the number of encoders, at least 1. Each encodes one request after another, in the
	// order of arrival, and sends the encodings of one while it works for the next.
	Number int
	// Work returns how long an encoder works for a request that arrives, and how long its encodings
	// then take on the encoder's link. It is called once for each request.
	Work func(r *Request) (encode, send Time)
}

// encoding is the state of encoders, which only encode changes. It is empty without encoders.
type encoding struct {
	*Encoders
	// each is when an encoder has done its work so far (free), and when its link has sent that
	// (sent): free <= sent, and neither falls.
	each []struct{ free, sent Time }
}

func newEncoding(e *Encoders) encoding {
	if e == nil {
		return encoding{}
	}
	return encoding{e, make([]struct{ free, sent Time }, e.Number)}
}

// encode gives a request that arrives now to the encoder that is free first. It returns when its
// encodings are sent, and how long the encoder works for it.
func (e *encoding) encode(r *Request, now Time) (sent, work Time) {
	if e.Encoders == nil {
		return now, 0
	}
	work, send := e.Work(r)
	if work <= 0 && send <= 0 {
		return now, 0
	}
	first := &e.each[0]
	for i := range e.each {
		if e.each[i].free < first.free {
			first = &e.each[i]
		}
	}
	first.free = later(max(first.free, now), work)
	first.sent = later(max(first.sent, first.free), send)
	return first.sent, work
}
