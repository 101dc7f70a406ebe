package scenarios

import (
	"sync"
	"sync/atomic"

	"github.com/llmsim/llmsim/scenarios/deployment"
)

// together returns what runs tasks on a number of processors at the same time.
func together(processors int) func(n int, task func(int)) {
	return func(n int, task func(int)) {
		var next atomic.Int64
		work := func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				task(i)
			}
		}
		var others sync.WaitGroup
		for range min(processors, n) - 1 {
			others.Go(work)
		}
		work()
		others.Wait()
	}
}

// groupsPerProcessor is how many groups of replicas there are for each processor, so that none
// waits for long at the end. Each group takes a clock of its own.
const groupsPerProcessor = 2

// mostGroups bounds the memory of clocks.
const mostGroups = 32

// groups returns the number of groups of a number of replicas that may run at the same time.
func groups(processors, replicas int) int {
	if processors < 2 {
		return 1
	}
	return min(groupsPerProcessor*processors, mostGroups, replicas)
}

// apart returns the servers of a pool by group. The clock of the pool itself is for
// observers of its replicas, which ask it meanwhile.
func (p *pool) apart(processors, groups int) []*deployment.Server {
	list := make([]*deployment.Server, groups)
	for i := range list {
		list[i] = &p.Server
		if processors > 1 {
			fork := p.Server
			fork.Clock = p.Clock.Fork()
			list[i] = &fork
		}
	}
	return list
}
