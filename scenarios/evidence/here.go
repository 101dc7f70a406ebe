package evidence

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// Here is the grade of a deployment to which the predictions were fitted. It is above all grades of
// Grades, which rest on the measurements that llmsim comes with.
const Here Grade = "measured here"

// Own is the evidence of a deployment's own measurements for predictions that were fitted to a part
// of them.
type Own struct {
	// Measured is the date of the measurements, as 2026-11-23, and Expires the date after which
	// they should be repeated; each is empty if unknown.
	Measured string `json:"measured,omitempty"`
	Expires  string `json:"expires,omitempty"`
	// TPOT and TTFT are the errors of the part that was held out, as fractions.
	TPOT float64 `json:"tpot"`
	TTFT float64 `json:"ttft"`
}

// Fitted returns the evidence for a server that was fitted to its own measurements.
func Fitted(key deployment.Key, own Own) Evidence {
	return Evidence{Grade: Here, Own: &own, Server: key, Spread: Spread{
		TPOT: max(own.TPOT, leastOwn), TTFT: max(own.TTFT, leastOwn),
		Rate: max(own.TPOT, leastOwn)}}
}

// sentence returns what is known in words.
func (o *Own) sentence() string {
	words := "Fitted to measurements of this deployment"
	if o.Measured != "" {
		words += " of " + o.Measured
	}
	words += fmt.Sprintf(": of the part that was held out, TPOT was off by %s and TTFT by %s.",
		units.FormatFraction(o.TPOT), units.FormatFraction(o.TTFT))
	if o.Expires != "" {
		words += " Measure again by " + o.Expires + "."
	}
	return words
}
