package serve

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/testkit"
)

// crowd is a fleet that serves thousands at once, each with some 25 tokens a second.
const crowd = `
model: llama-3.1-70b
hardware: h100-sxm
parallelism: {tensor: 4}
replicas: 20
engine: {max-model-len: 8192}
workload: {rate: 10/s, prompt: 100, output: 200, requests: 50}
`

// BenchmarkStreams keeps 5,000 streams open on one server, whose clients are in the same process,
// and reports tokens for each second of processor time of both, how regularly tokens come, and the
// memory of a stream. A run takes 15 seconds: -benchtime 1x.
func BenchmarkStreams(b *testing.B) {
	const streams, span = 5000, 15 * time.Second
	i := open(b, crowd, func(o *Options) { o.Speed = 1 })
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for b.Loop() {
		begin, cpu := time.Now(), processorTime(b)
		var mu sync.Mutex
		var late []time.Duration
		tokens := 0
		var all sync.WaitGroup
		for n := range streams {
			all.Go(func() {
				gaps, err := listen(i.Server.Listener.Addr().String(), n, begin.Add(span))
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					b.Error(err)
				}
				tokens += len(gaps)
				late = append(late, gaps...)
			})
		}
		time.Sleep(span - 2*time.Second)
		var during runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&during)
		lag := i.late.worst(time.Now())
		all.Wait()
		slices.Sort(late)
		b.ReportMetric(float64(tokens)/(processorTime(b)-cpu).Seconds(), "tokens/cpu-s")
		b.ReportMetric(float64(tokens)/time.Since(begin).Seconds(), "tokens/s")
		b.ReportMetric(float64(during.HeapAlloc+
			during.StackInuse-before.HeapAlloc-before.StackInuse)/streams/1024, "KiB/stream")
		b.ReportMetric(float64(late[len(late)/2].Microseconds())/1000, "p50-gap-ms")
		b.ReportMetric(float64(late[len(late)*99/100].Microseconds())/1000, "p99-gap-ms")
		b.ReportMetric(float64(lag.Microseconds())/1000, "lag-ms")
	}
}

// listen asks for a long answer and returns the gaps between its tokens until the given moment.
func listen(address string, n int, until time.Time) ([]time.Duration, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	body := fmt.Sprintf(`{"prompt":"stream %d","max_tokens":4000,"ignore_eos":true,"stream":true}`,
		n)
	if _, err := fmt.Fprintf(c,
		"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body),
		body); err != nil {
		return nil, err
	}
	if err := c.SetReadDeadline(until); err != nil {
		return nil, err
	}
	var gaps []time.Duration
	var last time.Time
	for lines := bufio.NewReaderSize(c, 1024); ; {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return gaps, nil // the time is over
		}
		if !bytes.HasPrefix(line, []byte("data: ")) {
			if strings.HasPrefix(string(line), "HTTP/1.1 ") &&
				!strings.Contains(string(line), fmt.Sprint(http.StatusOK)) {
				return nil, fmt.Errorf("%s", line)
			}
			continue
		}
		now := time.Now()
		if !last.IsZero() {
			gaps = append(gaps, now.Sub(last))
		}
		last = now
	}
}

// processorTime returns what this process has used so far.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	testkit.OK(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
