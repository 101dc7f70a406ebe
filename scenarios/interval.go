package scenarios

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
