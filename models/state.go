package models

// State is what alike layers keep of a sequence on one GPU: KV that grows with its context, KV of
// the last tokens only, or state of fixed size.
type State struct {
	// Layers is the number of layers.
	Layers int
	// TokenBits is what one token adds in one layer; 0 for state of fixed size. Every is the number
	// of tokens that share an entry of the given bits, where context is compressed (DeepSeek-V4); 0
	// means 1.
	TokenBits int64
	Every     int
	// Window is the number of last tokens that are kept; 0 means all.
	Window int
	// FixedBytes is what a sequence takes in one layer, however long it is.
	FixedBytes int64
}

// bits returns what n tokens of a sequence take in all the layers.
func (s *State) bits(n int) int64 {
	if s.Window > 0 {
		n = min(n, s.Window)
	}
	return int64(s.Layers) * (int64(n/max(1, s.Every))*s.TokenBits + 8*s.FixedBytes)
}

// growth returns the bits that a token adds in all layers as long as no window is full, as a
// fraction.
func (s *State) growth() float64 {
	return float64(s.Layers) * float64(s.TokenBits) / float64(max(1, s.Every))
}
