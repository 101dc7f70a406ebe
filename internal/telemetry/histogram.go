package telemetry

import (
	"math"
	"slices"
	"sort"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"

	"github.com/llmsim/llmsim/sim"
)

// histogram counts values in buckets; a bucket holds what is at most its bound.
type histogram struct {
	bounds []float64
	counts []uint64 // one more than bounds, for what is above all
	sum    float64
	n      uint64
}

func newHistogram(bounds []float64) histogram {
	return histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

// add takes in a value, a number of times.
func (h *histogram) add(v float64, count int64) {
	i := sort.SearchFloat64s(h.bounds, v)
	h.counts[i] += uint64(count)
	h.n += uint64(count)
	h.sum += float64(v * float64(count))
}

// addSteps takes in the lengths of the later steps of a leap, in seconds, once for each sequence
// that decodes. Lengths grow from step to step, so that the lengths of a bucket are found together.
func (h *histogram) addSteps(l *sim.Leap) {
	decodes := int64(l.Decodes)
	if l.Ends != nil {
		for i := int64(1); i < l.Steps; i++ {
			h.add(l.Length(i).Seconds(), decodes)
		}
		return
	}
	span := func(step int64) float64 { return l.Form.At(l.Context + step*decodes).Seconds() }
	for step := int64(1); step < l.Steps && !l.Together; {
		i := sort.SearchFloat64s(h.bounds, span(step))
		bound := math.Inf(1)
		if i < len(h.bounds) {
			bound = h.bounds[i]
		}
		inside := int64(sort.Search(int(l.Steps-step),
			func(k int) bool { return span(step+int64(k)) > bound }))
		h.counts[i] += uint64(inside * decodes)
		step += inside
	}
	h.n += uint64((l.Steps - 1) * decodes)
	h.sum += float64((l.End - l.Start - l.Form.At(l.Context)).Seconds() * float64(decodes))
}

// metric returns the histogram in Prometheus's form.
func (h *histogram) metric() *dto.Histogram {
	out := &dto.Histogram{SampleCount: proto.Uint64(h.n), SampleSum: proto.Float64(h.sum)}
	below := uint64(0)
	for i, bound := range h.bounds {
		below += h.counts[i]
		out.Bucket = append(out.Bucket, &dto.Bucket{UpperBound: proto.Float64(bound),
			CumulativeCount: proto.Uint64(below)})
	}
	return out
}

// oneTwoFive returns 1, 2, 5, 10, 20, 50, … up to most.
func oneTwoFive(most int) []float64 {
	var bounds []float64
	for unit := 1; unit <= most; unit *= 10 {
		for _, m := range []int{1, 2, 5} {
			if m*unit <= most {
				bounds = append(bounds, float64(m*unit))
			}
		}
	}
	return slices.Clip(bounds)
}

// powersOfTwo returns vLLM's buckets for the tokens of a step.
func powersOfTwo() []float64 {
	return []float64{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}
}
