package scenarios

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// Files that are made to take all memory or time are refused in words, or taken at an ordinary
// price.
func TestBombs(t *testing.T) {
	const head = "model: llama-3.1-8b\nhardware: h100-sxm\n"
	var unknown, classes, lengths, aliases, lists strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lengths, "    - {name: c%d, prompt: {distribution: uniform, min: %d, max: "+
			"2000000}}\n", i, i+1)
	}
	for i := 0; unknown.Len() < 1<<20-100; i++ { // as many as a file holds
		fmt.Fprintf(&unknown, "%s:\n", strconv.FormatInt(int64(i), 36))
	}
	for i := range 10_000 {
		fmt.Fprintf(&classes, "    - {name: c%d, tenant: t%d, rate: 1/h}\n", i, i)
	}
	aliases.WriteString("    - name: c0\n      rate: &r {pattern: phases, phases: [" +
		strings.Repeat("{rate: 1/s, for: 1s},", 2000) + "]}\n")
	for i := range 2000 {
		fmt.Fprintf(&aliases, "    - {name: d%d, rate: *r}\n", i)
	}
	lists.WriteString("a0: &a0 [1]\n")
	for i := range 30 {
		fmt.Fprintf(&lists, "a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"unknown keys": {head + unknown.String(), "there may be more; mend these first"},
		"more unknown keys than fit": {head + strings.ReplaceAll(unknown.String(), ":", ": 1"),
			"more than 1048576 bytes"},
		"aliases": {head + "workload:\n  classes:\n" + aliases.String(),
			"values, counting what aliases repeat"},
		"aliases of lists": {head + lists.String() + "workload: {classes: *a30}\n",
			"mend these first"},
		"itself":  {head + "workload: &w {classes: [*w]}\n", ""},
		"classes": {head + "workload:\n  classes:\n" + classes.String(), ""},
		"lengths": {head + "workload:\n  classes:\n" + lengths.String(),
			"more than 16777216 lengths"},
		"a long key":   {head + strings.Repeat("k", 1<<19) + ": 1\n", "not YAML"},
		"a long value": {head + "seed: " + strings.Repeat("9", 1<<19) + "\n", "seed"},
		"a long file":  {head + strings.Repeat("#\n", 1<<20), "more than 1048576 bytes"},
		"brackets":     {head + "workload: " + strings.Repeat("[", 1<<19), "not YAML"},
		"a list of nothing": {head + "workload: {classes: [" + strings.Repeat(",", 1<<18) + "]}",
			""},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Bounded(t, len(c.text), func() {
				f, err := Parse("bomb.yaml", []byte(c.text))
				if err == nil {
					var s *Simulation
					if s, err = f.Build(policies.Default()); err == nil {
						s.Source.Close()
					}
				}
				if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) ||
					len(err.Error()) > 20_000) {
					t.Errorf("%.2000v, want %q", err, c.want)
				}
			})
		})
	}
}

// A device that never ends is no scenario, no plan and no trace.
func TestEndlessDevices(t *testing.T) {
	const device = "/dev/zero"
	if _, err := os.Stat(device); err != nil {
		t.Skip(err)
	}
	testkit.Bounded(t, 0, func() {
		if _, err := HashFile(device); err == nil || !strings.Contains(err.Error(), device) {
			t.Errorf("its hash: %v", err)
		}
		if _, err := Load(device); !IsInputError(err) ||
			!strings.Contains(err.Error(), "found more than") {
			t.Errorf("a scenario: %v", err)
		}
		for _, field := range []string{
			"workload.trace", "hardware.file",
			"workload.prompt={distribution: empirical, file: /dev/zero}",
			"speculation={method: eagle, acceptance: {law: measured, file: /dev/zero}}",
		} {
			if !strings.Contains(field, "=") {
				field += "=" + device
			}
			f, err := Load("chat", field)
			testkit.OK(t, err)
			if _, err := f.Build(policies.Default()); !IsInputError(err) ||
				!strings.Contains(err.Error(), device) {
				t.Errorf("%s: %v", field, err)
			}
		}
	})
}
