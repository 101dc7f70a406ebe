package deployment

import (
	"cmp"
	"math"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// A load that is not known is taken to be this one, in requests under way and in tokens.
const (
	typicalUsers  = 30
	typicalPrompt = 1000
	typicalOutput = 300
)

// HostShare returns the share of a decode step that follows the host's time, under users requests
// at a time with prompts and answers of mean lengths in tokens; each is 0 where it is not known.
// The host may be slower by the standard deviation of hosts of machines.
func HostShare(clock *steptime.Clock, users, prompt, output float64) float64 {
	n := math.Round(max(1, cmp.Or(users, typicalUsers)))
	context := n * (cmp.Or(prompt, typicalPrompt) + cmp.Or(output, typicalOutput)/2)
	step := &sim.Step{Decodes: int(n), DecodeTokens: int(n), Context: int64(context)}
	return clock.HostShare(step, math.Exp(hardware.Hosts().Deviation))
}
