package models

import "math"

// SoundEncoder is a transformer that encodes the frames of a sound for a language model. A second
// of sound has 100 frames of mel spectrum (Whisper, arXiv:2212.04356, section 2.2).
type SoundEncoder struct {
	// Layers, Width, Attention and Intermediate are its shape: Attention is the width of all heads.
	Layers, Width, Attention, Intermediate int
	// Rule is how frames become tokens, and Window is the number of frames whose positions attend
	// to each other, 0 for all of a sound.
	Rule   SoundRule
	Window int
}

// SoundRule is how frames become tokens.
type SoundRule string

const (
	// Padded fills sounds up to 30 s, which is also the longest. Two frames make a position of the
	// encoder, and two positions a token of 40 ms (Qwen2-Audio, arXiv:2407.10759, section 2). The
	// tokens of the filling are left out.
	Padded SoundRule = "padded"
	// Halved is the same without filling (Qwen2.5-Omni, arXiv:2503.20215, section 2.2).
	Halved SoundRule = "halved"
	// Eighths makes 13 positions, which are tokens, of each 100 frames (Qwen3-Omni,
	// arXiv:2509.17765, section 2.2; vllm/model_executor/models/qwen3_omni_moe_thinker.py,
	// _get_feat_extract_output_lengths).
	Eighths SoundRule = "eighths"
	// Pieces cuts a sound into pieces of 30 s, the last of them filled up. Two frames make a
	// position, and four positions a token of 80 ms (Voxtral, arXiv:2507.13264, section 2).
	Pieces SoundRule = "pieces"
)

// LongestSound returns the length in seconds of the longest sound, +Inf without a bound.
func (e *SoundEncoder) LongestSound() float64 {
	if e.Rule == Padded {
		return 30
	}
	return math.Inf(1)
}

// Encode returns how many tokens a sound of a length in seconds, above 0, is for the language
// model, and the FLOPs of encoding it, without its convolutions.
func (e *SoundEncoder) Encode(seconds float64) (tokens int, flops float64) {
	const piece = 3000
	frames := max(1, int(math.Ceil(seconds*100)))
	half := func(n int) int { return (n-1)/2 + 1 }
	window, perPosition := e.Window, 2
	var positions int
	switch e.Rule {
	case Padded:
		tokens, positions = half(frames)/2, piece/2
	case Pieces:
		n := (frames + piece - 1) / piece
		tokens, positions, window = n*piece/8, n*piece/2, piece
	case Eighths:
		rest := frames % 100
		if rest > 0 {
			rest = half(half(half(rest)))
		}
		tokens = frames/100*13 + rest
		positions, perPosition = tokens, 8
	default:
		tokens, positions = half(frames)/2, half(frames)
	}
	seen := positions
	if window > 0 {
		seen = min(seen, (window+perPosition-1)/perPosition)
	}
	matrices := float64(product(4, e.Width, e.Attention) + product(2, e.Width, e.Intermediate))
	n := float64(positions)
	layer := 2*n*matrices + 4*n*float64(seen)*float64(e.Attention)
	return max(1, tokens), float64(e.Layers) * layer
}
