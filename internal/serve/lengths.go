package serve

import "github.com/llmsim/llmsim/sim"

// mostLengths is the number of a workload's requests from which lengths of answers are drawn.
const mostLengths = 1000

// Lengths returns the lengths of the first answers of a workload, whose users do not wait for them;
// one of 128 tokens without them.
func Lengths(source sim.Source) []int {
	var list []int
	var r sim.Request
	for len(list) < mostLengths {
		at := source.NextArrival()
		if at == sim.Never {
			break
		}
		source.Next(&r)
		list = append(list, r.Output)
		source.Done(&r, at)
	}
	if len(list) == 0 {
		list = append(list, 128)
	}
	return list
}
