package memory

// Event says that a full block was stored, or dropped from all tiers, as engines publish it (vLLM
// v0.15: vllm/distributed/kv_events.py, BlockStored and BlockRemoved).
type Event struct {
	// Name identifies the tokens of the block and all before it, see Names.
	Name   uint64
	Stored bool
}
