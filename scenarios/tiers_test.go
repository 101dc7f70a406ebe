package scenarios

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/policies"
)

// tiered returns the result of a short load with the given section, as JSON.
func tiered(t *testing.T, memory string) (string, error) {
	t.Helper()
	file, err := Parse("t.yaml", []byte("model: llama-3.1-8b\nhardware: h100-sxm\nreplicas: 2\n"+
		"workload: {requests: 60, prompt: 3000, output: 20, rate: 8/s, sessions: {turns: 6, "+
		"think: 1s}}\n"+memory+"\n"))
	if err != nil {
		return "", err
	}
	s, err := file.Build(policies.Default())
	if err != nil {
		return "", err
	}
	r, err := s.Run(t.Context())
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(r.Summary)
	return string(data), err
}

// A list of tiers gives what the parameters of the policy give, and hbm alone what no list gives.
func TestTiersAreParameters(t *testing.T) {
	for list, params := range map[string]string{
		"memory: {policy: prefix-cache, tokens: 20000, tiers: [hbm]}": "" +
			"memory: {policy: prefix-cache, tokens: 20000}",
		"memory: {tokens: 20000, tiers: [hbm, {store: host, size: 4GiB}]}": "" +
			"memory: {policy: offload, tokens: 20000, cpu: 4GiB}",
		"memory: {policy: mooncake, tokens: 20000, tiers: [{store: hbm}, " +
			"{store: host, size: 1GiB}, " +
			"{store: nvme, size: 2GiB, rate: 7GB/s}]}": "memory: {policy: mooncake, " +
			"tokens: 20000, cpu: 1GiB, disk: 2GiB, disk-rate: 7GB/s, pool: 0B}",
		"memory: {tokens: 20000, ttl: 1m, tiers: [hbm, {store: host, size: 1GiB}, " +
			"{store: pool, size: 8GiB, shared: rack, link: 10GB/s, rate: 20GB/s}]}": "" +
			"memory: {policy: offload, tokens: 20000, ttl: 1m, cpu: 1GiB, pool: 8GiB, " +
			"pool-link: 10GB/s, pool-rate: 20GB/s}",
	} {
		got, err := tiered(t, list)
		if err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		if want, err := tiered(t, params); err != nil || got != want {
			t.Errorf("%s\ngives %s\nwant  %s (%v)", list, got, want, err)
		}
	}
}

// What cannot be is refused at its place.
func TestTiersRefuse(t *testing.T) {
	for tiers, want := range map[string]string{
		"tiers: [{store: host, size: 1GiB}]":      "memory.tiers.0.store: found host, want hbm",
		"tiers: [hbm, {store: tape, size: 1GiB}]": "memory.tiers.1.store",
		"tiers: [hbm, {store: nvme, size: 1GiB}]": "memory.tiers.1.store: found nvme; what leaves",
		"tiers: [hbm, {store: host, size: 1GiB}, " +
			"{store: host, size: 1GiB}]": "memory.tiers.2.store: " +
			"found host after host",
		"tiers: [hbm, {store: host, size: 1GiB}, " +
			"{store: pool, size: 1GiB}, {store: nvme, size: 1GiB}]": "" +
			"memory.tiers.3.store: found nvme after pool",
		"tiers: [hbm, host]":                                     "memory.tiers.1: host needs",
		"tiers: [{store: hbm, size: 1GiB}]":                      "memory.tiers.0.size: found 1GiB",
		"tiers: [hbm, {store: host, size: 1kB}]":                 "memory.tiers.1.size: found 1 kB",
		"tiers: [hbm, {store: host, size: much}]":                "memory.tiers.1.size",
		"policy: offload, tiers: [hbm]":                          "memory.tiers: offload keeps",
		"policy: paged, tiers: [hbm, {store: host, size: 1GiB}]": "memory.policy: found paged",
		"cpu: 1GiB, tiers: [hbm, {store: host, size: 1GiB}]":     "memory.cpu: memory.tiers has",
		"tiers: [hbm, {store: host, size: 1GiB}, {store: pool, size: 1GiB, rate: 0B/s}]": "" +
			"memory.tiers.2.rate: found 0B/s",
	} {
		_, err := tiered(t, "memory: {"+tiers+"}")
		if !IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", tiers, err, want)
		}
	}
}
