package validation

import (
	"regexp"
	"strconv"
)

// degrees are how a model is spread over GPUs, as labels such as "tp2", "dp2ep" and "tp2dp4ep8"
// name it: data-parallel ranks of attention, each over a number of GPUs, and experts over all GPUs.
type degrees struct {
	tensor, data int
	experts      bool
}

var degreesLabel = regexp.MustCompile(`^(?:tp(\d+))?_?(?:dp(\d+))?_?(ep(\d+)?)?$`)

// parseDegrees reads such a label, and reports whether it is one. A number of ranks over which
// experts are spread must be the number of all GPUs, or 1.
func parseDegrees(label string) (degrees, bool) {
	m := degreesLabel.FindStringSubmatch(label)
	if m == nil || label == "" {
		return degrees{}, false
	}
	degree := func(text string) int {
		if text == "" {
			return 1
		}
		n, err := strconv.Atoi(text)
		if err != nil || n > maxBatch {
			return 0
		}
		return n
	}
	l := degrees{tensor: degree(m[1]), data: degree(m[2])}
	gpus, expert := l.tensor*l.data, degree(m[4])
	l.experts = m[3] != "" && gpus > 1 && (m[4] == "" || expert > 1)
	return l, gpus > 0 && (m[4] == "" || expert == 1 || expert == gpus)
}

// apply spreads a deployment so. The number of GPUs of one rank is set before.
func (l degrees) apply(d *deployment) {
	d.Parallelism.Data = l.data
	if l.experts && d.model.Experts() != nil {
		d.Parallelism.Expert = l.tensor * l.data
	}
}
