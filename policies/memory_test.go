package policies

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies/memory"
	"github.com/llmsim/llmsim/sim"
)

func place() Deployment {
	return Deployment{
		KVTokens: 100_000, MaxContext: 4096, TokenBytes: 131072, HostRate: 25e9,
		Layers: memory.Layers{Full: 16, Windowed: 16, Window: 1024},
	}
}

// Every memory policy can be made with its defaults, holds a whole context, and has a source.
func TestMemoryPoliciesHaveDefaults(t *testing.T) {
	for _, p := range memoryPolicies() {
		m, err := p.Build(place(), nil)
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		if !m.Fits(4096) || m.Capacity() < 1 || p.Source == "" {
			t.Errorf("%s: a capacity of %d, and 4096 tokens fit: %t; source %q", p.Name,
				m.Capacity(), m.Fits(4096), p.Source)
		}
	}
}

// What cannot be is refused at its parameter, with the reason and what would work.
func TestMemoryPoliciesRefuse(t *testing.T) {
	noLink, noWindow, small := place(), place(), place()
	noLink.HostRate, noWindow.Layers, small.KVTokens = 0, memory.Layers{Full: 32}, 3000
	for _, c := range []struct {
		policy    string
		place     Deployment
		params    map[string]string
		parameter string
		want      string
	}{
		{"contiguous", place(), map[string]string{"prefix-cache": "true"}, "prefix-cache",
			"the memory policies prefix-cache, radix and offload share"},
		{"contiguous", place(), map[string]string{"block-size": "16"}, "block-size", "paged"},
		{"contiguous", place(), map[string]string{"cpu": "64GiB"}, "cpu", "offload"},
		{"contiguous", place(), map[string]string{"reserve": "orcale"}, "reserve", "oracle"},
		{"contiguous", small, nil, "", "lower max-model-len to that, or reserve by pow2 or oracle"},
		{"paged", place(), map[string]string{"reserve": "max"}, "reserve", "contiguous"},
		{"paged", place(), map[string]string{"block-size": "0"}, "", "at least 1"},
		{"prefix-cache", place(), map[string]string{"cpu": "64GiB"}, "cpu", "offload"},
		{"offload", noLink, nil, "", "prefix-cache"},
		{"offload", place(), map[string]string{"cpu": "1MiB"}, "cpu", "room for a block of"},
		{"offload", place(), map[string]string{"cpu": "lots"}, "cpu", "lots"},
		{"offload", place(), map[string]string{"disk": "1TiB", "disk-rate": "0B/s"}, "disk-rate",
			"3GB/s"},
		{"offload", place(), map[string]string{"disk": "1MiB"}, "disk", "room for a block of"},
		{"offload", place(), map[string]string{"pool": "1MiB"}, "pool", "room for a block of"},
		{"offload", place(), map[string]string{"pool": "1TiB", "pool-rate": "0B/s"}, "pool-rate",
			"200GB/s"},
		{"offload", place(), map[string]string{"pool": "1TiB", "pool-link": "0B/s"}, "pool-link",
			"50GB/s"},
		{"offload", place(), map[string]string{"prefetch": "timeout"}, "prefetch", "give a disk"},
		{"offload", place(), map[string]string{"compression": "0.5"}, "compression", "1 (KV as"},
		{"offload", place(), map[string]string{"compression": "2"}, "decompress-rate", "50GB/s"},
		{"offload", place(), map[string]string{"decompress-rate": "9GB/s"}, "decompress-rate",
			"leave it out"},
		{"offload", place(), map[string]string{"survives": "host"}, "survives", "write to through"},
		{"offload", place(), map[string]string{"eviction": "lfu", "ttl": "1m"}, "ttl", "by age"},
		{"offload", place(), map[string]string{"eviction": "lru2"}, "eviction", "lru"},
		{"sliding-window", noWindow, nil, "window", "paged"},
	} {
		p, err := Default().Memory.Lookup(c.policy)
		testkit.OK(t, err)
		_, err = p.Build(c.place, c.params)
		var at *ParamError
		if errors.As(err, &at); err == nil || !strings.Contains(err.Error(), c.want) ||
			c.parameter != "" && (at == nil || at.Name != c.parameter) {
			t.Errorf("%s with %v: %v, want %q at %q", c.policy, c.params, err, c.want, c.parameter)
		}
	}
}

// KV of half the bytes, unpacked at twice the rate of the link, is the same as twice the memory:
// half the time on the link, and as long to unpack.
func TestCompressionIsMoreMemory(t *testing.T) {
	p, err := Default().Memory.Lookup("offload")
	testkit.OK(t, err)
	build := func(params map[string]string) sim.Memory {
		m, err := p.Build(place(), params)
		testkit.OK(t, err)
		return m
	}
	packed := map[string]string{"cpu": "3GiB", "disk": "5GiB", "disk-rate": "2GB/s",
		"compression": "2", "decompress-rate": "50GB/s"}
	whole := map[string]string{"cpu": "6GiB", "disk": "10GiB", "disk-rate": "4GB/s"}
	if got, want := build(packed), build(whole); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	packed["pool"] = "7GiB"
	settings, err := p.Read(packed)
	testkit.OK(t, err)
	shape, err := SharedPool(settings, place())
	testkit.OK(t, err)
	if want := 131072.0 * 16 / 2; shape.BlockBytes != want ||
		shape.Blocks != int64((7<<30)/want) {
		t.Errorf("a pool of %+v, want blocks of %g bytes", shape, want)
	}
}
