package scenarios

// Intervals say how sure a result is: ranges that hold what would be measured in a share of
// the cases (Level), over how wrong step times may be and over the random numbers of the run.
type Intervals struct {
	// Level is the share of cases in the range, 0.8.
	Level float64 `json:"level"`
	// Runs is the number of simulations beside the one that the result is of, Requests the length
	// of each.
	Runs     int   `json:"runs"`
	Requests int64 `json:"requests"`
	// Of has the range of each metric by its name.
	Of map[string]Range `json:"metrics"`
}

// Range is from Low to High, in the unit of its metric.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}
