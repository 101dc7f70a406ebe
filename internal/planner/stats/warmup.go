// Package stats says how much of a simulation's output is warm-up, how uncertain its means are
// (Interval), and in which ranges the figures of a run lie (Ranges).
package stats

// mserBatch is the number of observations averaged before truncation: the 5 of MSER-5.
const mserBatch = 5

// WarmUp returns how many of the first observations to drop, by the marginal standard error rule on
// means of five: the truncation point d minimises Σ(Yᵢ − Ȳ)² / (n − d)² over what remains (White,
// "An effective truncation heuristic for bias reduction in simulation output", Simulation 69, 1997;
// MSER-5 after White, Cobb and Spratt, Winter Simulation Conference 2000). A minimum in the second
// half means that the series has not settled: then nothing is to be dropped, and settled is false.
func WarmUp(series []float64) (drop int, settled bool) {
	means := batches(series, mserBatch)
	best, at := 0.0, -1
	var sum, squares, n float64
	// From the end, so that the sums over what remains grow by one term at a time. The last few
	// alone say nothing.
	for d := len(means) - 1; d >= 0; d-- {
		y := means[d]
		n++
		delta := y - sum/max(1, n-1)
		if n == 1 {
			delta = 0
		}
		squares += delta * delta * (n - 1) / n // Welford's update
		sum += y
		if n < mserBatch {
			continue
		}
		if error := squares / (n * n); at < 0 || error <= best {
			best, at = error, d
		}
	}
	if at < 0 {
		return 0, true // too short to tell
	}
	if 2*at > len(means) {
		return 0, false
	}
	return at * mserBatch, true
}

// batches returns the means of runs of size observations, and drops an incomplete last run.
func batches(series []float64, size int) []float64 {
	means := make([]float64, len(series)/size)
	for i := range means {
		for _, y := range series[i*size : (i+1)*size] {
			means[i] += y
		}
		means[i] /= float64(size)
	}
	return means
}
