package sim

// EncoderCache keeps the images and sounds that a replica's encoder has encoded.
type EncoderCache interface {
	// Encoded returns how many of the images that begin in the n tokens after the s.Stored first
	// ones of s the cache has, and keeps the others, which the step encodes.
	Encoded(s *Sequence, n int) int
	// Forget drops all that is kept.
	Forget()
}
