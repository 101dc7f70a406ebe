package answer

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/report"
)

// seen says what was simulated for the chosen fleet.
func (d *Deployment) seen() string {
	if d.Law != nil {
		return fmt.Sprintf("%d of the replicas simulated", d.Law.Simulated)
	}
	return "The whole fleet simulated"
}

// print says by which rule a large fleet was judged.
func (l *Law) print(p *report.Printer) {
	if l == nil {
		return
	}
	p.Text(fmt.Sprintf("%d replicas were simulated for the fleet, at the same rate each. In tests "+
		"with up to 512 replicas, whole simulations gave from 4%% fewer replicas to 2%% "+
		"more. Fleets of more than %d replicas are sized to 1%%.", l.Simulated, l.Whole))
}
