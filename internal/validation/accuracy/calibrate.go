package accuracy

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"

	servers "github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// Sample is a measured figure beside a prediction that was fitted without it, and what a range of
// its class would know of it.
type Sample struct {
	server
	Table string
	Class evidence.Class
	// group has the rows that were left out together.
	group group
	point evidence.Point
	// off is the logarithm of the measured over the predicted time. Of the rows that were not left
	// out, mean is expected, and the share variance of the variance remains.
	off, mean, variance float64
	// weight is such that each server counts the same.
	weight float64
	// range in which constants from other groups put the figure
	held evidence.ErrorRange
}

// Held reports whether the range that rests on other groups holds the figure.
func (s *Sample) Held() bool { return s.held.Holds(s.off, evidence.Width80) }

// group is the servers with the same preset, accelerator and model.
type group struct{ Engine, GPU, Model string }

// half is the rows of a metric that a process can see: half of a group.
type half struct {
	group
	metric string
	of     int
}

// Samples returns the rows of the report that were left out of the fit, of the metrics that have a
// kernel: with their group as servers
// that were not measured, with half of their group as servers of which the other half was measured,
// and with their release as servers outside of what was measured.
func (r *Report) Samples(kernels map[string]evidence.Kernel) []Sample {
	var list []Sample
	rows := map[group][]served{}
	var order []group
	for _, s := range r.served() {
		left := s.leftOut()
		if _, wanted := kernels[s.quantity]; left == nil || !wanted {
			continue
		}
		g := group{s.Engine, s.GPU, s.Model}
		add := func(class evidence.Class, off float64) {
			list = append(list, Sample{server: server{s.Key, s.quantity}, Table: s.Table,
				Class: class, group: g, point: s.point(), off: off, variance: 1})
		}
		add(evidence.Other, *left.Group)
		// The other releases of a table that has many of one client and its machines tell of both:
		// a server of a new release is of another source.
		if left.Release != nil && s.Server != "" {
			add(evidence.Outside, *left.Release)
		}
		if left.Half != nil {
			if rows[g] == nil {
				order = append(order, g)
			}
			rows[g] = append(rows[g], s)
		}
	}
	for _, g := range order {
		list = append(list, halved(g, rows[g], kernels)...)
	}
	weigh(list)
	return list
}

// halved returns the rows of a group as samples of which a process has seen the other half.
func halved(g group, rows []served, kernels map[string]evidence.Kernel) (list []Sample) {
	points, errors := map[half][]evidence.Point{}, map[half][]float64{}
	for i := range rows {
		s := &rows[i]
		h := half{g, s.quantity, *s.leftOut().Part}
		points[h] = append(points[h], s.point())
		errors[h] = append(errors[h], *s.leftOut().Other)
	}
	processes := map[half]*evidence.Process{}
	for h := range points {
		k := kernels[h.metric]
		processes[h] = evidence.NewProcess(&k, points[h], errors[h])
	}
	for i := range rows {
		s := &rows[i]
		left := s.leftOut()
		p := processes[half{g, s.quantity, 1 - *left.Part}]
		if p == nil {
			continue // all rows of the metric are in one half
		}
		x := Sample{server: server{s.Key, s.quantity}, Table: s.Table, Class: evidence.Same,
			group: g, point: s.point(), off: *left.Half}
		x.mean, x.variance = p.At(&x.point)
		list = append(list, x)
	}
	return list
}

// weigh makes each server of a class count the same.
func weigh(list []Sample) {
	type one struct {
		server
		class evidence.Class
	}
	count := map[one]float64{}
	for i := range list {
		count[one{list[i].server, list[i].Class}]++
	}
	for i := range list {
		list[i].weight = 1 / count[one{list[i].server, list[i].Class}]
	}
}

// kind is samples whose ranges have the same reach.
type kind struct {
	metric string
	class  evidence.Class
}

func (s *Sample) kind() kind { return kind{s.Quantity, s.Class} }

// far is how far off a sample is, in standard deviations that remain.
func (s *Sample) far() float64 { return math.Abs(s.off-s.mean) / math.Sqrt(s.variance) }

const (
	// folds is the number of parts of the groups, each of which is held to constants of the others.
	folds = 8
	// ridge is how improbable weights of features are that samples do not ask for.
	ridge = 0.01
	// leastFar keeps a sample that is not off from counting for too much.
	leastFar = 1e-4
)

// Calibrate returns what ranges are made of so that they hold four in five of the samples, and sets
// in which range each of them would be by the samples of other groups.
func Calibrate(list []Sample, kernels map[string]evidence.Kernel) *evidence.Calibration {
	fold := map[group]int{}
	groups, _ := grouped(list, func(s *Sample) group { return s.group })
	slices.SortFunc(groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.GPU, b.GPU),
			cmp.Compare(a.Engine, b.Engine))
	})
	for i, g := range groups {
		fold[g] = i % folds
	}
	shares := map[kind][]weighted{}
	for f := range folds {
		in := func(s *Sample) bool { return fold[s.group] != f }
		c := &evidence.Calibration{Weights: weightsOf(list, in)}
		c.Reaches = reaches(list, c, in)
		for i := range list {
			if s := &list[i]; fold[s.group] == f {
				s.held = c.Range(s.Quantity, s.Class, &s.point, s.mean, s.variance)
				shares[s.kind()] = append(shares[s.kind()],
					weighted{s.far() / c.Width(s.Class, &s.point), s.weight})
			}
		}
	}
	c := &evidence.Calibration{Kernels: kernels,
		Weights: weightsOf(list, func(*Sample) bool { return true })}
	c.Reaches = reaches(list, c, func(*Sample) bool { return true })
	for i := range c.Reaches {
		r := &c.Reaches[i]
		k := kind{r.Metric, r.Class}
		r.Reach = rounded(weightedQuantile(shares[k], intervalLevel), 1e3)
		r.Inside = rounded(Inside(list, func(s *Sample) bool { return s.kind() == k }), 1e2)
	}
	return c
}

// reaches returns the reaches that the chosen samples ask for.
func reaches(list []Sample, c *evidence.Calibration, in func(*Sample) bool) []evidence.Reach {
	_, of := grouped(list, (*Sample).kind)
	var all []evidence.Reach
	for _, metric := range evidence.Metrics() {
		for _, class := range []evidence.Class{evidence.Same, evidence.Other, evidence.Outside} {
			var far []weighted
			known := map[servers.Key]bool{}
			for _, s := range of[kind{metric, class}] {
				if in(&s) {
					far = append(far, weighted{s.far() / c.Width(class, &s.point), s.weight})
					known[s.Key] = true
				}
			}
			if len(far) > 0 {
				all = append(all, evidence.Reach{Metric: metric, Class: class,
					Servers: len(known), Reach: weightedQuantile(far, intervalLevel)})
			}
		}
	}
	return all
}

// weightsOf returns the weights of features under which the chosen samples are most probable, if
// they are off as by a Laplace distribution whose scale has a level for each metric and class.
// Features widen ranges, or have no weight.
func weightsOf(list []Sample, in func(*Sample) bool) map[string]float64 {
	names := evidence.Features()
	allowed := make([]bool, len(names))
	for i := range allowed {
		allowed[i] = true
	}
	for {
		b := weightsAmong(list, in, allowed)
		least := slices.Index(b, slices.Min(b))
		if b[least] >= 0 {
			weights := map[string]float64{}
			for i, x := range b {
				if x = rounded(x, 1e2); x > 0 {
					weights[names[i]] = x
				}
			}
			return weights
		}
		allowed[least] = false
	}
}

// weightsAmong is weightsOf with weights of the allowed features alone, of either sign.
func weightsAmong(list []Sample, in func(*Sample) bool, allowed []bool) []float64 {
	type row struct {
		kind        int
		far, weight float64
		x           []float64
	}
	var rows []row
	var kinds []kind
	total := 0.0
	for i := range list {
		s := &list[i]
		if !in(s) {
			continue
		}
		k := slices.Index(kinds, s.kind())
		if k < 0 {
			k = len(kinds)
			kinds = append(kinds, s.kind())
		}
		x := s.point.Features(s.Class)
		for j := range x {
			if !allowed[j] {
				x[j] = 0
			}
		}
		rows = append(rows, row{k, max(leastFar, s.far()), s.weight, x})
		total += s.weight
	}
	// The loss, and its slopes where they are asked for: the level of a kind is the mean of what
	// its samples are off by over the scale of their features.
	loss := func(b, slopes []float64) float64 {
		sum := make([]float64, len(kinds))
		weight := make([]float64, len(kinds))
		of := make([][]float64, len(kinds))
		for k := range of {
			of[k] = make([]float64, len(b))
		}
		value := 0.0
		for _, r := range rows {
			width := 0.0
			for j, x := range r.x {
				width += float64(b[j] * x)
			}
			far := r.weight * r.far * math.Exp(-width)
			value += r.weight * width
			sum[r.kind] += far
			weight[r.kind] += r.weight
			for j, x := range r.x {
				of[r.kind][j] += far * x
				if slopes != nil {
					slopes[j] += r.weight * x
				}
			}
		}
		for k := range kinds {
			value += weight[k] * math.Log(sum[k]/weight[k])
			for j := range slopes {
				slopes[j] -= weight[k] * of[k][j] / sum[k]
			}
		}
		for j := range b {
			value += total * ridge * b[j] * b[j]
			if slopes != nil {
				slopes[j] += 2 * total * ridge * b[j]
			}
		}
		return value
	}
	start := make([]float64, len(allowed))
	if len(rows) == 0 {
		return start
	}
	best, err := optimize.Minimize(optimize.Problem{
		Func: func(b []float64) float64 { return loss(b, nil) },
		Grad: func(slopes, b []float64) {
			clear(slopes)
			loss(b, slopes)
		},
	}, start, nil, &optimize.BFGS{})
	if best == nil {
		panic(err) // the loss is convex and smooth
	}
	return best.X
}

// FitKernels returns the kernels under which rows of the report whose half was left out are most
// probable, by metric, from others on.
func (r *Report) FitKernels(from map[string]evidence.Kernel) map[string]evidence.Kernel {
	best := map[string]evidence.Kernel{}
	for metric, start := range from {
		kernel := func(x []float64) evidence.Kernel {
			return evidence.Kernel{Shared: 1 / (1 + math.Exp(-x[0])), Users: math.Exp(x[1]),
				Layout: math.Exp(x[2]), Month: math.Exp(x[3])}
		}
		loss := func(x []float64) float64 {
			far, weight, width := 0.0, 0.0, 0.0
			for _, s := range r.Samples(map[string]evidence.Kernel{metric: kernel(x)}) {
				if s.Quantity == metric && s.Class == evidence.Same {
					far += s.weight * s.far()
					width += s.weight * math.Log(s.variance) / 2
					weight += s.weight
				}
			}
			// What no row asks for stays near where a change of it would be seen.
			for j := range x {
				width += 0.02 * x[j] * x[j]
			}
			return weight*math.Log(far/weight) + width
		}
		x := []float64{math.Log(start.Shared / (1 - start.Shared)), math.Log(start.Users),
			math.Log(start.Layout), math.Log(start.Month)}
		found, err := optimize.Minimize(optimize.Problem{Func: loss}, x,
			&optimize.Settings{FuncEvaluations: 120}, &optimize.NelderMead{})
		if found == nil {
			panic(err)
		}
		k := kernel(found.X)
		best[metric] = evidence.Kernel{Shared: rounded(k.Shared, 1e2), Users: rounded(k.Users, 10),
			Layout: rounded(k.Layout, 1e2), Month: rounded(k.Month, 1e2)}
	}
	return best
}

// Inside returns the share of the chosen samples in ranges whose constants come from other groups,
// each server of a class counting the same; 0 without samples.
func Inside(list []Sample, chooses func(*Sample) bool) float64 {
	inside, all := 0.0, 0.0
	for i := range list {
		if s := &list[i]; chooses(s) {
			all += s.weight
			if s.Held() {
				inside += s.weight
			}
		}
	}
	return inside / max(all, math.SmallestNonzeroFloat64)
}

// Score returns the interval score of the ranges of the chosen samples over that of the best single
// width, each server counting the same: the width, and ten times how far values lie beyond it
// (Gneiting and Raftery, JASA 102(477), 2007, for ranges of 80 %).
func Score(list []Sample, chooses func(*Sample) bool) float64 {
	const beyond = 2 / (1 - intervalLevel)
	var far []weighted
	ours := 0.0
	for i := range list {
		if s := &list[i]; chooses(s) {
			far = append(far, weighted{math.Abs(s.off), s.weight})
			ours += s.weight * (2*s.held.Within +
				beyond*max(0, math.Abs(s.off-s.held.Bias)-s.held.Within))
		}
	}
	width, single := weightedQuantile(far, intervalLevel), 0.0
	for _, w := range far {
		single += w.weight * (2*width + beyond*max(0, w.value-width))
	}
	return ours / single
}
