package scenarios

import "github.com/llmsim/llmsim/scenarios/evidence"

// Intervals say how uncertain a result is. Each range contains the measured value in a share of the
// cases, Level. It covers the error of the step times and the random numbers of the run.
type Intervals struct {
	// Level is the share of the cases in which the range contains the measured value, 0.8.
	Level float64 `json:"level"`
	// Runs is the number of additional simulations behind the ranges, and Requests the number of
	// requests of each.
	Runs     int   `json:"runs"`
	Requests int64 `json:"requests"`
	// Of holds the range of each metric by its name.
	Of map[string]Range `json:"metrics"`
}

// Range is from Low to High, in the unit of its metric.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// nearCapacity is by how many times as much as the times of steps the time of a request varies,
// from which on a load is near what the servers bear.
const nearCapacity = 1.5

// Load returns the load that servers of a spread bear in Level of the cases, where 1 is what they
// bear at the predicted steps; false where the load of the run is not near that. Steps that are 7 %
// slower bear 7 % less load, whatever that does to latencies.
func (v *Intervals) Load(spread *evidence.Spread) (span Range, near bool) {
	fast, slow := spread.Range()
	request := v.Of["mean_e2el_ms"]
	near = request.Low > 0 && request.High/request.Low > nearCapacity*slow/fast
	return Range{Low: 1 / slow, High: 1 / fast}, near
}
