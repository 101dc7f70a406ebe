package sim

// Sequence is the life of one request on the way through a replica.
type Sequence struct {
	Request
}
