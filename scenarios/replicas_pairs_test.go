//go:build unix

package scenarios_test

import (
	"context"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// BenchmarkReplicaPairs reports by router how much CPU time a request costs in fleets of 64 and of
// 1,000 replicas, as a multiple of its cost with one replica, at the same load a replica: the
// median over rounds, in each of which the three sizes take turns.
func BenchmarkReplicaPairs(b *testing.B) {
	const rounds, requests = 5, 300_000
	for _, router := range policies.Default().Routing.Policies {
		if router.Name == "splitwise" {
			continue // it needs pools of several roles
		}
		b.Run(router.Name, func(b *testing.B) {
			var one []float64
			ratios := map[int][]float64{}
			for range rounds * b.N {
				alone := replicasCPU(b, router.Name, 1, requests)
				one = append(one, alone)
				for _, replicas := range []int{64, 1000} {
					ratios[replicas] = append(ratios[replicas],
						replicasCPU(b, router.Name, replicas, requests)/alone)
				}
			}
			b.ReportMetric(median(one)/requests*1e9, "ns/request")
			b.ReportMetric(median(ratios[64]), "×64")
			b.ReportMetric(median(ratios[1000]), "×1000")
		})
	}
}

// BenchmarkProcessorPairs reports what a million requests on 64 replicas cost on two processors, by
// the clock and in CPU time, as a multiple of what they cost on one: the medians of nine pairs.
func BenchmarkProcessorPairs(b *testing.B) {
	const pairs, requests = 9, 1_000_000
	cost := func(processors int) (wall, cpu float64) {
		s := ready(b, equalLoads("round-robin", 64, requests), processors)
		runtime.GC()
		before, start := cpuTime(b), time.Now()
		_, err := s.Run(context.Background())
		testkit.OK(b, err)
		return time.Since(start).Seconds(), (cpuTime(b) - before).Seconds()
	}
	var walls, cpus []float64
	for range pairs * b.N {
		wall1, cpu1 := cost(1)
		wall2, cpu2 := cost(2)
		walls, cpus = append(walls, wall2/wall1), append(cpus, cpu2/cpu1)
	}
	b.ReportMetric(median(walls), "×wall")
	b.ReportMetric(median(cpus), "×CPU")
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// replicasCPU returns the CPU time, in seconds, of a run of the given number of requests.
func replicasCPU(b *testing.B, router string, replicas, requests int) float64 {
	s := ready(b, equalLoads(router, replicas, requests), 1)
	runtime.GC()
	before := cpuTime(b)
	if r, err := s.Run(context.Background()); err != nil || r.Completed != int64(requests) {
		b.Fatal(r, err)
	}
	return (cpuTime(b) - before).Seconds()
}

// cpuTime returns the time that this process has computed.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	testkit.OK(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
