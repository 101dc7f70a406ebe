package models

import (
	"math"
)

// ImageEncoder is a transformer that encodes the patches of an image for a language model.
type ImageEncoder struct {
	// Layers, Width, Attention and Intermediate are its shape: Attention is the width of all heads,
	// Gated reports whether its MLPs have three matrices.
	Layers, Width, Attention, Intermediate int
	Gated                                  bool
	// Patch is the side of a patch in pixels. Join patches on a side become one token.
	Patch, Join int
	// Rule turns pixels into tokens, Side is the side in pixels that it goes by, and Tokens and
	// Tiles are the numbers that it needs.
	Rule          ImageRule
	Side          int
	Tokens, Tiles int
}

// ImageRule names the rule by which pixels become tokens.
type ImageRule string

const (
	// NativeSize rounds each side to whole tokens (Qwen2-VL, arXiv:2409.12191, section 2.1;
	// GLM-4.1V). Limits on the number of pixels are in the checkpoint's preprocessor_config.json,
	// which is not read.
	NativeSize ImageRule = "native size"
	// RowsOfTokens makes images with a longer side than Side smaller, and ends each row of tokens
	// with one more (Pixtral, arXiv:2410.07073, section 2.2; mistral-common, image.py).
	RowsOfTokens ImageRule = "rows"
	// FixedSize stretches each image to Side, and pools it to Tokens (Gemma 3, arXiv:2503.19786,
	// section 2).
	FixedSize ImageRule = "fixed size"
	// TiledSize cuts an image into at most Tiles squares of Side whose shape is nearest to its own,
	// with a small copy of the whole where they are several (InternVL 1.5, arXiv:2404.16821,
	// section 3.3).
	TiledSize ImageRule = "tiles"
)

// Encode returns how many tokens an image of a width and height in pixels is for the language
// model, and the FLOPs of encoding it: matrix products, and attention of all patches of an image or
// tile to each other.
func (e *ImageEncoder) Encode(width, height int) (tokens int, flops float64) {
	side := e.Patch * e.Join
	switch e.Rule {
	case FixedSize:
		return e.Tokens, e.flops((e.Side / e.Patch) * (e.Side / e.Patch))
	case TiledSize:
		tiles := e.tiles(width, height)
		each := e.Side / side
		return tiles * each * each, float64(tiles) * e.flops((e.Side/e.Patch)*(e.Side/e.Patch))
	case RowsOfTokens:
		if longest := max(width, height); longest > e.Side {
			width, height = max(1, width*e.Side/longest), max(1, height*e.Side/longest)
		}
		columns, rows := (width+side-1)/side, (height+side-1)/side
		return rows * (columns + 1), e.flops(rows * columns * e.Join * e.Join)
	}
	whole := func(n int) int { return max(1, int(math.Round(float64(n)/float64(side)))) }
	tokens = whole(width) * whole(height)
	return tokens, e.flops(tokens * e.Join * e.Join)
}

// tiles returns the number of tiles: of the grids of at most Tiles, the one whose shape is nearest
// to the image's, the smaller of equals; and one for the whole.
func (e *ImageEncoder) tiles(width, height int) int {
	shape, best, nearest := float64(width)/float64(height), 1, math.Inf(1)
	for n := 1; n <= e.Tiles; n++ {
		for columns := 1; columns <= n; columns++ {
			if n%columns != 0 {
				continue
			}
			rows := n / columns
			if off := math.Abs(shape - float64(columns)/float64(rows)); off < nearest {
				best, nearest = n, off
			}
		}
	}
	if best > 1 {
		best++
	}
	return best
}

// flops returns the FLOPs of encoding the given number of patches.
func (e *ImageEncoder) flops(patches int) float64 {
	n, layers := float64(patches), float64(e.Layers)
	matrices := float64(product(4, e.Width, e.Attention) + product(matrices(e.Gated), e.Width,
		e.Intermediate))
	return layers * (2*n*matrices + 4*n*n*float64(e.Attention))
}

// SoundEncoder is a transformer that encodes the frames of a sound for a language model. A second
// of sound has 100 frames of mel spectrum (Whisper, arXiv:2212.04356, section 2.2).
type SoundEncoder struct {
	// Layers, Width, Attention and Intermediate are its shape: Attention is the width of all heads.
	Layers, Width, Attention, Intermediate int
	// Rule turns frames into tokens, and Window is the number of frames whose positions attend
	// to each other, 0 for all of a sound.
	Rule   SoundRule
	Window int
}

// SoundRule names the rule by which frames become tokens.
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
