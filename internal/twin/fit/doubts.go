package fit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// Limits of what single requests of one server show. They were chosen so that servers 1.4 times
// apart are told, and that neither a measured server nor a drawn one is doubted, as the tests of
// both hold. A split in two explains 2/π = 0.64 of the variance of a normal distribution.
const (
	// doubtFrom is the number of requests from which their spread is known, and doubtMost the
	// number of the first ones that are looked at.
	doubtFrom, doubtMost = 100, 2000
	// scaleGain is the spread at another scale of arrivals, relative to the source's, below which
	// the other one is the right one.
	scaleGain = 0.75
	// splitShare is the share of the variance that a split in two explains from which the requests
	// are of two servers, whose latencies differ by at least splitRatio.
	splitShare, splitRatio = 0.74, 1.15
)

// doubts says what the single requests of a run show that no one server does at the loads that the
// arrivals say: that their time runs at another pace, or that they are of two servers.
func (p *problem) doubts(ctx context.Context, fitted scenarios.Factors) (list []string, err error) {
	for i := range p.runs {
		r := p.runs[i]
		if len(r.Requests) < doubtFrom || r.Load.Concurrency > 0 {
			continue
		}
		r.Requests = r.Requests[:min(len(r.Requests), doubtMost)]
		own, err := p.server.offsets(ctx, fitted, &r, 1)
		if err != nil {
			return nil, err
		}
		if len(own) < doubtFrom {
			continue
		}
		if share, ratio := split(own); share > splitShare && ratio > splitRatio {
			list = append(list, fmt.Sprintf("%s: found requests of two kinds, of which one is "+
				"%.2g times as late as the other at the same load, want those of one server: are "+
				"two servers in one file, or behind one address?", r.Name, ratio))
		}
		best, least := 1.0, scaleGain*spread(own)
		for _, scale := range []float64{1e-3, 0.25, 0.5, 2, 4, 1e3} {
			other, err := p.server.offsets(ctx, fitted, &r, scale)
			if err != nil {
				return nil, err
			}
			if s := spread(other); s < least {
				best, least = scale, s
			}
		}
		if best != 1 {
			list = append(list, fmt.Sprintf("%s: found arrivals whose latencies follow from %.3g "+
				"times their rate, but for %s, and from the rate itself but for %s: are arrivals "+
				"in another unit, stretched, or only a part of all requests?", r.Name,
				1/best, units.FormatFraction(least), units.FormatFraction(spread(own))))
		}
	}
	return list, nil
}

// offsets returns the logarithms of E2E over predicted of the requests of a run whose arrivals are
// scaled.
func (s *Server) offsets(ctx context.Context, f scenarios.Factors, r *observed.Run,
	scale float64) (list []float64, err error) {
	scaled := *r
	scaled.Requests = slices.Clone(r.Requests)
	for i := range scaled.Requests {
		q := &scaled.Requests[i]
		q.Arrival, q.Sent = q.Arrival*scale, q.Sent*scale
	}
	pairs, err := s.Compare(ctx, f, &scaled)
	for i := range pairs {
		if e := &pairs[i].E2E; e[0] > 0 && e[1] > 0 {
			list = append(list, math.Log(e[0]/e[1]))
		}
	}
	slices.Sort(list)
	return list, err
}

// spread returns the median distance of sorted values from their median.
func spread(sorted []float64) float64 {
	middle := stat.Quantile(0.5, stat.Empirical, sorted, nil)
	away := make([]float64, len(sorted))
	for i, x := range sorted {
		away[i] = math.Abs(x - middle)
	}
	slices.Sort(away)
	return stat.Quantile(0.5, stat.Empirical, away, nil)
}

// split divides sorted logarithms in two, of at least a fifth each, so that the halves explain the
// largest share of the variance, and returns that share and the ratio of the halves' means.
func split(sorted []float64) (share, ratio float64) {
	n, mean, variance := len(sorted), stat.Mean(sorted, nil), stat.PopVariance(sorted, nil)
	low := 0.0
	for i, x := range sorted[:n-n/5] {
		low += x - mean
		a := float64(i + 1)
		b := float64(n) - a
		if between := low * low / (a * b); i >= n/5 && between > share*variance {
			share, ratio = between/variance, math.Exp(-low*(1/a+1/b))
		}
	}
	return share, ratio
}
