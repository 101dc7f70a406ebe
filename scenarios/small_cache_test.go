package scenarios

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/policies"
)

// A KV cache of any size holds a sequence of each model, or is refused with the size that it needs
// at least: with that size the model fits, and with one token less it does not.
func TestSmallCachesAreRefused(t *testing.T) {
	known, err := models.Load()
	testkit.OK(t, err)
	asked := regexp.MustCompile(`Raise memory.tokens to (\d+) or more\.`)
	refused := 0
	for _, m := range known.All() {
		fits := func(tokens string) error {
			file, err := Parse("t.yaml", []byte("model: "+m.Name+"\nhardware: b300-sxm\n"+
				"memory: {tokens: "+tokens+"}"))
			testkit.OK(t, err)
			_, err = file.Steps(policies.Default())
			return err
		}
		for _, tokens := range []string{"1", "15", "100", "3000"} {
			err := fits(tokens)
			if err == nil {
				continue
			}
			least := asked.FindStringSubmatch(err.Error())
			if least == nil || !strings.HasPrefix(err.Error(), "t.yaml:3: memory.tokens: ") ||
				strings.Contains(err.Error(), " -") {
				t.Errorf("%s, %s tokens: %v", m.Name, tokens, err)
				continue
			}
			refused++
			testkit.OK(t, fits(least[1]))
			var n int
			fmt.Sscan(least[1], &n)
			if fits(fmt.Sprint(n-1)) == nil {
				t.Errorf("%s fits into %d tokens, and %d are asked for", m.Name, n-1, n)
			}
		}
	}
	if refused < 10 {
		t.Errorf("only %d caches are refused", refused)
	}
}
