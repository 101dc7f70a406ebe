package metrics

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/sim"
)

// Distribution summarises spans of time. The mean is exact. Quantiles are exact as long as there
// are at most exactSpans different spans. Beyond that, they have a relative error of at most the
// accuracy of the distribution (DDSketch: Masson, Rim and Lee, VLDB 2019), and lie between the
// shortest and the longest span. The size of a Distribution does not depend on the number of spans,
// and their order does not matter.
type Distribution struct {
	buckets     buckets
	counts      counts
	n           uint64
	zeros       uint64 // spans of 0, which have no bucket
	least, most sim.Time
	exact       exact
	sum         sim.Sum // of all spans
}

// NewDistribution returns an empty distribution of the given relative accuracy, in (0, 1).
func NewDistribution(accuracy float64) (*Distribution, error) {
	if !(accuracy > 0 && accuracy < 1) {
		return nil, fmt.Errorf(
			"metrics: the relative accuracy is %v, want more than 0 and less than 1", accuracy)
	}
	return newDistribution(accuracy), nil
}

func newDistribution(accuracy float64) *Distribution {
	return &Distribution{buckets: newBuckets(accuracy), least: sim.Never}
}

// Add adds a span, which must not be negative.
func (d *Distribution) Add(span sim.Time) { d.AddRepeated(span, 1) }

// AddRepeated adds count equal spans.
func (d *Distribution) AddRepeated(span sim.Time, count int64) {
	if !d.exact.many || span <= d.least || span > d.most { // rare once there are many
		d.bound(span, span)
		d.exact.add(span, count)
	}
	if span == 0 {
		d.zeros += uint64(count)
	} else {
		*d.counts.at(d.buckets.index(float64(span))) += float64(count)
	}
	d.n += uint64(count)
	d.sum.Add(count, span)
}

// bound notes the shortest and the longest of some spans.
func (d *Distribution) bound(least, most sim.Time) {
	d.least, d.most = min(d.least, least), max(d.most, most)
}

// AddSteps adds the lengths of all steps of a leap except the first, each once for every decoding
// sequence. These are the gaps between their tokens. Steps of one bucket are added together, so
// that the cost depends on the number of buckets and not on the number of steps.
func (d *Distribution) AddSteps(l *sim.Leap) {
	if l.Ends != nil {
		for i := int64(1); i < l.Steps; i++ {
			d.AddRepeated(l.Length(i), int64(l.Decodes))
		}
		return
	}
	count := int64(l.Decodes)
	bucketOf := func(step int64) int {
		return d.buckets.index(float64(l.Form.At(l.Context + step*count)))
	}
	final := bucketOf(l.Steps - 1)
	for step := int64(1); step < l.Steps; {
		bucket, end := bucketOf(step), l.Steps // the first step beyond the bucket
		if bucket != final {
			inside := step
			for end-inside > 1 {
				if middle := inside + (end-inside)/2; bucketOf(middle) == bucket {
					inside = middle
				} else {
					end = middle
				}
			}
		}
		*d.counts.at(bucket) += float64((end - step) * count)
		step = end
	}
	length := func(step int64) sim.Time { return l.Form.At(l.Context + step*count) }
	if !d.exact.many {
		for step := int64(1); step < l.Steps; step++ {
			d.exact.add(length(step), count)
		}
	}
	d.bound(length(1), length(l.Steps-1))
	d.n += uint64((l.Steps - 1) * count)
	d.sum.Add(count, l.End-l.Start-l.Form.At(l.Context))
}

// Count returns the number of spans.
func (d *Distribution) Count() int64 { return int64(d.n) }

// Mean returns the exact mean in ticks; 0 without spans.
func (d *Distribution) Mean() float64 {
	if d.n == 0 {
		return 0
	}
	return d.sum.Ticks() / float64(d.n)
}

// each yields the spans in order, shortest first, with their numbers. Spans of a bucket are yielded
// together.
func (d *Distribution) each(yield func(span, n float64) bool) {
	if !d.exact.many {
		for _, s := range d.exact.spans {
			if !yield(float64(s.span), float64(s.count)) {
				return
			}
		}
		return
	}
	if d.zeros > 0 && !yield(0, float64(d.zeros)) {
		return
	}
	for bucket, n := range d.counts.each {
		if !yield(d.value(bucket), n) {
			return
		}
	}
}

// value returns the number that represents the spans of a bucket.
func (d *Distribution) value(bucket int) float64 {
	return max(float64(d.least), min(d.buckets.value(bucket), float64(d.most)))
}

// Std returns the standard deviation of the population in ticks, from the buckets if there are many
// spans.
func (d *Distribution) Std() float64 {
	if d.n == 0 {
		return 0
	}
	var values, numbers []float64 // finding a value takes longer than keeping it
	sum := 0.0
	for value, count := range d.each {
		values, numbers = append(values, value), append(numbers, count)
		sum += float64(count * value)
	}
	mean := sum / float64(d.n)
	squares := 0.0
	for i, count := range numbers {
		delta := values[i] - mean
		squares += float64(count * delta * delta)
	}
	return math.Sqrt(squares / float64(d.n))
}

// Quantile returns the q-quantile in ticks, q in [0, 1], interpolated between the two nearest
// ranks; 0 without spans.
func (d *Distribution) Quantile(q float64) float64 {
	if d.n == 0 {
		return 0
	}
	rank := float64(q * float64(d.n-1)) // rounded before anything is added, here and below
	below := math.Floor(rank)
	value := d.ranked(below)
	if rank > below {
		value += float64((rank - below) * (d.ranked(below+1) - value))
	}
	return value
}

// quantileAmong returns the q-quantile of the spans together with the given number of further
// spans, which are longer than any other. It is infinite if the quantile falls among these.
func (d *Distribution) quantileAmong(q float64, longer int64) float64 {
	rank := float64(q * float64(int64(d.n)+longer-1))
	switch {
	case longer == 0:
		return d.Quantile(q)
	case rank > float64(d.n)-1:
		return math.Inf(1)
	}
	return d.Quantile(rank / max(1, float64(d.n)-1))
}

// within returns the share of the spans that are not longer than most, to the accuracy of the
// buckets if there are many; 1 without spans.
func (d *Distribution) within(most sim.Time) float64 {
	if d.n == 0 {
		return 1
	}
	kept := 0.0
	for span, count := range d.each {
		if span <= float64(most) {
			kept += count
		}
	}
	return kept / float64(d.n)
}

// ranked returns the span of a rank, from 0 to n−1.
func (d *Distribution) ranked(rank float64) float64 {
	switch {
	case !d.exact.many:
		return float64(d.exact.ranked(rank))
	case rank < float64(d.zeros):
		return 0
	}
	return d.value(d.counts.ranked(rank - float64(d.zeros)))
}

// The relative accuracies of quantiles. Inter-token latency is recorded for every token, and has a
// lower accuracy for speed.
const (
	requestAccuracy = 0.001
	tokenAccuracy   = 0.005
)
