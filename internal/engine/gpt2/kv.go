package gpt2

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/engine/kernels"
)

// BlockTokens is the number of tokens of a KV block: one panel, so that the micro-kernels of the
// weights serve attention too.
const BlockTokens = kernels.PanelWidth

// KV is the memory of keys and values, in blocks of BlockTokens tokens (Kwon et al. 2023,
// arXiv:2309.06180, section 4.1).
//
// A block has a tile for each layer and head: the keys, transposed, as a panel
// [HeadSize][BlockTokens], then the values as panels [BlockTokens][PanelWidth]. Tiles of
// consecutive blocks of one layer and head follow each other in memory.
type KV struct {
	region                *kernels.Region
	data                  []float32
	blocks, heads, layers int
	headSize, valueWidth  int
}

// NewKV returns memory for the given number of blocks of model m.
func NewKV(m *Model, blocks int) (*KV, error) {
	kv := &KV{
		blocks: blocks, heads: m.KVHeads, layers: len(m.layers),
		headSize: m.Config.HeadSize(), valueWidth: roundUp(m.Config.HeadSize()),
	}
	if blocks < 1 {
		return nil, fmt.Errorf("a KV cache of %d blocks: at least 1 is needed", blocks)
	}
	n := kv.layers * kv.heads * blocks * kv.tileSize()
	region, err := kernels.NewRegion(kernels.RegionBytes[float32](n))
	if err != nil {
		return nil, err
	}
	kv.region, kv.data = region, kernels.Take[float32](region, n)
	return kv, nil
}

// Close frees the memory.
func (kv *KV) Close() error { return kv.region.Close() }

// Copy copies all keys and values of block from to block to.
func (kv *KV) Copy(to, from int32) {
	for l := range kv.layers {
		for h := range kv.heads {
			copy(kv.tile(l, h, to), kv.tile(l, h, from))
		}
	}
}

func (kv *KV) tileSize() int { return BlockTokens * (kv.headSize + kv.valueWidth) }

// tile returns keys and values of one block, layer and head.
func (kv *KV) tile(layer, head int, block int32) []float32 {
	size := kv.tileSize()
	at := ((layer*kv.heads+head)*kv.blocks + int(block)) * size
	return kv.data[at : at+size : at+size]
}

// store writes key and value of the token in the given slot of a tile.
func (kv *KV) store(tile []float32, slot int, key, value []float32) {
	for i, k := range key[:kv.headSize] {
		tile[i*BlockTokens+slot] = k
	}
	values := tile[kv.headSize*BlockTokens:]
	for i := 0; i < kv.headSize; i += kernels.PanelWidth {
		copy(values[(i+slot)*kernels.PanelWidth:], value[i:min(i+kernels.PanelWidth, kv.headSize)])
	}
}
