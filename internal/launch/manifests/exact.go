package manifests

import (
	"fmt"
	"slices"
)

// Exact is how llm-d's endpoint picker learns what each pod keeps: vLLM sends it an event for each
// block. The picker computes the names of blocks as vLLM does, so both have the same block size,
// seed and algorithm (llm-d 0.4, guides/precise-prefix-cache-aware).
type Exact struct {
	// BlockSize is vLLM's, in tokens.
	BlockSize string
	// Prefix, Usage and Queue are the weights of what is cached, of free memory, and of a short
	// queue.
	Prefix, Usage, Queue string
}

// eventsPort is where the picker takes events, and hashSeed what Python and the picker hash with.
const (
	eventsPort = 5557
	hashSeed   = "42"
)

// Port is where the picker takes events.
func (*Exact) Port() int { return eventsPort }

// Seed is what Python and the picker hash with.
func (*Exact) Seed() string { return hashSeed }

// scorers returns the plugins, with what they need to know.
func (x *Exact) scorers() []Scorer {
	return []Scorer{{"queue-scorer", x.Queue, ""}, {"kv-cache-utilization-scorer", x.Usage, ""},
		{"precise-prefix-cache-scorer", x.Prefix, fmt.Sprintf("{indexerConfig: "+
			"{tokenProcessorConfig: {blockSize: %s, hashSeed: %q}, "+
			"tokenizersPoolConfig: {hf: {tokenizersCacheDir: /tmp/tokenizers}}}}", x.BlockSize,
			hashSeed)}}
}

// reporting returns the command of a pod that sends events to the picker.
func (b *Bundle) reporting(s *Server, command []string) []string {
	return append(slices.Clip(command), "--prefix-caching-hash-algo", "sha256_cbor",
		"--kv-events-config", fmt.Sprintf(`{"enable_kv_cache_events":true,"publisher":"zmq",`+
			`"endpoint":"tcp://%s:%d","topic":"kv@$(POD_IP)@%s"}`, b.picker(), eventsPort, s.Model))
}

// picker is the name of the endpoint picker's objects.
func (b *Bundle) picker() string { return b.Name + "-picker" }
