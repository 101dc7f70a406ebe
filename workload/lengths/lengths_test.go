package lengths

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/testkit"
)

func made(d *Distribution, err error) *Distribution {
	if err != nil {
		panic(err)
	}
	return d
}

// families is one distribution of each family.
func families() []*Distribution {
	return []*Distribution{
		made(Fixed(128)),
		made(Uniform(10, 90)),
		made(Normal(500, 200, 2, 2000)),
		made(Normal(500, 200, 900, 1000)),
		made(LogNormal(300, 1.5, 1, 4096)),
		made(LogNormalMuSigma(5, 0.5, 100, 200)),
		made(Gamma(250, 0.5, 1, 4000)),
		made(Exponential(100, 1, 2000)),
		made(Zipf(1.2, 1, 1000)),
		made(Empirical([]Weighted{{7, 1}, {3, 2}, {7, 1}, {5000, 0.5}})),
	}
}

// A distribution must keep its bounds, and the mean and variance of a million draws must be those
// it declares: within five standard errors of the mean, and within 2 % for the variance
// (lognormal's has the widest error, about 0.6 %).
func TestDrawsMatchDeclaredMoments(t *testing.T) {
	const draws = 1_000_000
	for _, d := range families() {
		t.Run(d.String(), func(t *testing.T) {
			src := rand.NewPCG(7, 11)
			sum, squares := 0.0, 0.0
			for range draws {
				n := d.Draw(src)
				if n < d.Min() || n > d.Max() {
					t.Fatalf("drew %d, outside [%d, %d]", n, d.Min(), d.Max())
				}
				x := float64(n) - d.Mean()
				sum += x
				squares += x * x
			}
			if err, tolerance := sum/draws, 5*math.Sqrt(d.Variance()/draws)+
				1e-9; math.Abs(err) > tolerance {
				t.Errorf("mean of draws is off by %g, allowed %g", err, tolerance)
			}
			if got := squares / draws; math.Abs(got-d.Variance()) > 0.02*d.Variance()+1e-9 {
				t.Errorf("variance of draws %g, declared %g", got, d.Variance())
			}
		})
	}
}

// Truncation must keep the proportions inside the bounds: the cumulative distribution of draws must
// be that of the textbook distribution, conditional on the bounds. The Kolmogorov-Smirnov distance
// of 200,000 draws exceeds 0.0055 once in 100,000 seeds.
func TestTruncationIsConditional(t *testing.T) {
	const draws = 200_000
	sigma := math.Sqrt(math.Log1p(1.5 * 1.5))
	for _, c := range []struct {
		d   *Distribution
		cdf func(float64) float64
	}{
		{made(Normal(500, 200, 2, 2000)), distuv.Normal{Mu: 500, Sigma: 200}.CDF},
		{made(Normal(500, 200, 900, 1000)), distuv.Normal{Mu: 500, Sigma: 200}.CDF},
		{made(LogNormal(300, 1.5, 10, 4096)), distuv.LogNormal{Mu: math.Log(300) - sigma*sigma/2,
			Sigma: sigma}.CDF},
		{made(Gamma(250, 0.5, 100, 4000)), distuv.Gamma{Alpha: 4, Beta: 4. / 250}.CDF},
		{made(Exponential(100, 20, 300)), distuv.Exponential{Rate: 0.01}.CDF},
	} {
		t.Run(c.d.String(), func(t *testing.T) {
			src := rand.NewPCG(3, 5)
			counts := make([]int, c.d.Max()+1)
			for range draws {
				counts[c.d.Draw(src)]++
			}
			low, high := c.cdf(float64(c.d.Min())-0.5), c.cdf(float64(c.d.Max())+0.5)
			seen, distance := 0, 0.0
			for k, n := range counts {
				seen += n
				want := (c.cdf(float64(k)+0.5) - low) / (high - low)
				if k >= c.d.Min() {
					distance = math.Max(distance, math.Abs(float64(seen)/draws-want))
				}
			}
			if distance > 0.0055 {
				t.Errorf("Kolmogorov-Smirnov distance %.4f", distance)
			}
		})
	}
}

// Under the same random number a distribution that lies higher draws no less: comparisons under
// common random numbers stay aligned.
func TestDrawsKeepTheirRank(t *testing.T) {
	low, high := made(Normal(500, 200, 2, 2000)), made(Normal(600, 200, 2, 2000))
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.Uint64().Draw(t, "u")
		if a, b := low.At(u), high.At(u); a > b {
			t.Fatalf("the lower distribution draws %d, the higher %d", a, b)
		}
	})
}

// Exact small cases: probabilities that can be counted by hand.
func TestExactMoments(t *testing.T) {
	for _, c := range []struct {
		d              *Distribution
		mean, variance float64
	}{
		{made(Fixed(7)), 7, 0},
		{made(Uniform(1, 3)), 2, 2. / 3},
		{made(Zipf(1, 1, 2)), 4. / 3, 2. / 9},
		{made(Zipf(0, 1, 3)), 2, 2. / 3},
		{made(Normal(10, 0, 1, 20)), 10, 0},
		{made(LogNormal(10, 0, 1, 20)), 10, 0},
		{made(Gamma(10, 0, 1, 20)), 10, 0},
		{made(Empirical([]Weighted{{1, 3}, {5, 1}})), 2, 3},
	} {
		if math.Abs(c.d.Mean()-c.mean) > 1e-12 || math.Abs(c.d.Variance()-c.variance) > 1e-12 {
			t.Errorf("%s: mean %g, variance %g; want %g, %g", c.d, c.d.Mean(), c.d.Variance(),
				c.mean, c.variance)
		}
	}
}

func TestErrorsSayWhatIsAllowed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for want, build := range map[string]func() (*Distribution, error){
		"min 9 is above max 3":     func() (*Distribution, error) { return Uniform(9, 3) },
		"min: found 0, allowed: 1": func() (*Distribution, error) { return Zipf(1, 0, 3) },
		"max: found 4194305, allowed": func() (*Distribution, error) {
			return Normal(1, 1, 1, MaxTokens+1)
		},
		"found -4, allowed: 1 to": func() (*Distribution, error) { return Fixed(-4) },
		"mean: found NaN": func() (*Distribution, error) {
			return Normal(nan, 1, 1, 2)
		},
		"standard deviation: found -1": func() (*Distribution, error) {
			return Normal(1, -1, 1, 2)
		},
		"standard deviation: found +Inf": func() (*Distribution, error) {
			return Normal(1, inf, 1, 2)
		},
		"mean: found 0, allowed: finite": func() (*Distribution, error) {
			return LogNormal(0, 1, 1, 2)
		},
		"cv: found -0.5, allowed": func() (*Distribution, error) {
			return LogNormal(5, -0.5, 1, 2)
		},
		"cv: found NaN, allowed": func() (*Distribution, error) {
			return Gamma(5, nan, 1, 2)
		},
		"1/cv²: found 0, allowed": func() (*Distribution, error) {
			return Gamma(5, 1e200, 1, 2)
		},
		"mu: found NaN": func() (*Distribution, error) {
			return LogNormalMuSigma(nan, 1, 1, 2)
		},
		"sigma: found -1": func() (*Distribution, error) {
			return LogNormalMuSigma(1, -1, 1, 2)
		},
		"mean: found -3": func() (*Distribution, error) {
			return Exponential(-3, 1, 2)
		},
		"exponent: found -1": func() (*Distribution, error) { return Zipf(-1, 1, 2) },
		"found no lengths":   func() (*Distribution, error) { return Empirical(nil) },
		"3 tokens: weight: found -1": func() (*Distribution, error) {
			return Empirical([]Weighted{{3, -1}})
		},
		"tokens: found 0, allowed: 1": func() (*Distribution, error) {
			return Empirical([]Weighted{{0, 1}})
		},
		"no positive weight": func() (*Distribution, error) {
			return Empirical([]Weighted{{3, 0}})
		},
		"lies between the bounds, allowe": func() (*Distribution, error) {
			return Normal(500, 2, 900, 1000)
		},
	} {
		d, err := build()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v and error %v, want an error with %q", d, err, want)
		}
	}
}

func TestReadTwoColumns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lengths.csv")
	for text, want := range map[string][]int{
		"tokens,weight\n10,1\n20,3\n":  {10, 20, 20, 20},
		"# seen in May\n10\n\n20 3\n":  {10, 20, 20, 20},
		"10\t1\r\n20\t1\r\n30\t2\r\n":  {10, 20, 30, 30},
		"5, 0.5\n6 ,0.25\n7,0.25\n7,0": {5, 5, 6, 7},
	} {
		write(t, path, text)
		d, err := Read(files.Disk{}, path)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got []int
		for quarter := range uint64(4) {
			got = append(got, d.At(quarter<<62))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: quartiles differ (-want +got):\n%s", text, diff)
		}
	}
}

func TestReadNamesTheLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lengths.csv")
	for text, want := range map[string]string{
		"":                      "found no lengths",
		"tokens\n":              "found no lengths",
		"tokens\nweights\n":     ":2: tokens: found \"weights\"",
		"10,1\n20,x\n":          ":2: weight: found \"x\"",
		"10,1\n\n20,1,4\n":      ":3: found 3 columns",
		"0\n":                   ":1: tokens: found 0",
		"3,NaN\n":               ":1: 3 tokens: weight: found NaN",
		"99999999999999999999,": ":1: tokens: found",
	} {
		write(t, path, text)
		_, err := Read(files.Disk{}, path)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want %q", text, err, want)
		}
	}
	if _, err := Read(files.Disk{}, filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a missing file was read")
	}
}

// Whatever the file holds, Read must answer with a usable distribution or an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte("tokens,weight\n10,1\n20,3\n"))
	f.Add([]byte("1 1e308\n2 1e308\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "lengths")
		write(t, path, string(data))
		var d *Distribution
		var err error
		testkit.Bounded(t, len(data), func() { d, err = Read(files.Disk{}, path) })
		if err != nil {
			return
		}
		if n := d.At(math.MaxUint64); n < 1 || n > MaxTokens || n > d.Max() {
			t.Errorf("drew %d in %s", n, d)
		}
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Empirical must not reorder the caller's slice.
func TestEmpiricalLeavesItsArgument(t *testing.T) {
	observed := []Weighted{{9, 1}, {3, 1}}
	before := slices.Clone(observed)
	d := made(Empirical(observed))
	if !slices.Equal(observed, before) {
		t.Errorf("observed is now %v", observed)
	}
	if got := fmt.Sprint(d.Min(), d.Max()); got != "3 9" {
		t.Errorf("bounds %s", got)
	}
}
