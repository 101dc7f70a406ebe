package answer

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// odds says what certainty costs, and how likely the fleet and its neighbours keep the SLO.
func (d *Deployment) odds(a *Answer) string {
	var parts []string
	for i, c := range d.Chances {
		if i > 0 && d.Chances[i-1].Probability > 1-Certain {
			break // more replicas keep it all the more
		}
		parts = append(parts, fmt.Sprintf("%d in %s", c.Replicas, c.words()))
	}
	words := fmt.Sprintf("Over all errors of predicted TPOT and TTFT (%s), the SLO is kept by %s "+
		"of cases.", d.Grade, strings.Join(parts, ", by "))
	if d.Certainty != nil {
		words = d.Certainty.words(d, a) + " " + words
	}
	// The last chance but one is that of the answer.
	if n := len(d.Chances); n > 1 && d.Chances[n-2].Probability < a.Confidence {
		words += fmt.Sprintf(" The answer is decided with both latencies at their %.4g%% "+
			"quantiles at once; a chance counts all errors, with the interval over draws of "+
			"the load in brackets, and may be lower.", 100*a.Confidence)
	}
	return words
}

// words says what certainty costs.
func (c *Certainty) words(d *Deployment, a *Answer) string {
	late := fmt.Sprintf("if each latency is as late as in %.4g%% of cases", 100*a.Confidence)
	if c.Needed == c.Predicted {
		return fmt.Sprintf("%s enough at the predicted speed and %s.", enough(c.Predicted), late)
	}
	words := fmt.Sprintf("%s enough at the predicted speed, and %d %s: that costs %s an hour "+
		"more", enough(c.Predicted), c.Needed, late, a.Currency.Format(report.Figure(c.Hourly)))
	if d.Grade != evidence.Measured {
		words += ", and a measurement of this server would settle it"
	}
	return words + "."
}

func enough(n int) string {
	if n == 1 {
		return "1 replica is"
	}
	return fmt.Sprintf("%d replicas are", n)
}

// words returns a probability with its interval over seeds, where that is wider than a point.
func (c *Chance) words() string {
	words := percentChance(c.Probability)
	if c.Probability >= Certain && c.Probability <= 1-Certain && c.High-c.Low > 0.02 {
		words += fmt.Sprintf(" (%s–%s)", report.Percent(c.Low), report.Percent(c.High))
	}
	return words
}

// percentChance prints a probability that is known to about a hundredth.
func percentChance(p float64) string {
	switch {
	case p < Certain:
		return "less than 2%"
	case p > 1-Certain:
		return "more than 98%"
	}
	return report.Percent(p)
}
