// Package audit has tests alone: they draw whole scenarios from the schema of scenario files, run
// them as users do, and hold everything that is printed against what must be true of all runs.
package audit

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

var (
	howMany = flag.Int("scenarios", 0, "the number of scenarios that TestAudit draws; 0 "+
		"means 300, and fewer where dear tests are drawn")
	first = flag.Uint64("first-scenario", 0,
		"the seed of the first scenario; 0 means one that follows from RAPID_SEED")
	dear = flag.Uint64("outputs", 10, "of how many scenarios one is also drawn as pictures, "+
		"swept, recorded and shown by the page")
)

// firstSeed returns the seed of the first scenario. Each commit that .ci/run checks has its own
// seeds.
func firstSeed() uint64 {
	if *first != 0 {
		return *first
	}
	hash := fnv.New64a()
	hash.Write([]byte(os.Getenv("RAPID_SEED")))
	return hash.Sum64() >> 34 << 10 // short enough to be typed
}

// Whatever a scenario mixes: any number of processors and any size of steps give the same result,
// every request ends once, all that is printed agrees, and every figure can be. A scenario that
// fails is repeated by -first-scenario and -scenarios 1.
func TestAudit(t *testing.T) {
	n := *howMany
	if n == 0 {
		n = testkit.Cases(300)
	}
	a := newAuditor()
	from, began := firstSeed(), time.Now()
	failed := map[string]int{}
	for seed := from; seed < from+uint64(n); seed++ {
		s, problems := a.seed(seed)
		if len(problems) == 0 {
			continue
		}
		if failed[kind(problems[0])]++; failed[kind(problems[0])] > 1 {
			continue // the first of a kind is printed
		}
		small := a.shrink(seed, s, problems)
		t.Errorf("scenario %d:\n%s\n\nsmaller:\n%s\n", seed, strings.Join(problems, "\n"),
			text(small))
	}
	for what, times := range failed {
		t.Logf("%d times: %s …", times, what)
	}
	t.Logf("seeds %d to %d: %s; %.1f s, %.1f s of processors", from, from+uint64(n)-1, a.counts(),
		time.Since(began).Seconds(), processorSeconds())
	if n >= 100 && a.ran*2 < a.drawn {
		t.Errorf("only %d of %d scenarios ran", a.ran, a.drawn)
	}
}

// A run with leaps drafts what a run without leaps drafts, in the same time and with the same
// arithmetic, also where a policy takes sequences out of steps for which they have drafts, and
// where users leave.
func TestDraftsOfLeapsAreThoseOfSteps(t *testing.T) {
	registry, ran, n, from := policies.Default(), 0, uint64(testkit.Cases(150)), firstSeed()
	for seed := from; seed < from+n; seed++ {
		d := &drawer{seed, registry}
		s := drawScenario(registry, seed)
		s["model"], s["hardware"], s["engine"] = "gpt2", "l4", "vllm-v1-sync"
		for _, key := range []string{"fleet", "parallelism", "caches", "shape", "steps",
			"adapters"} {
			delete(s, key)
		}
		s["batching"] = pick(d, "queue", []string{"mlfq", "srtf"})
		s["memory"] = object{"tokens": plain(pick(d, "room", []string{"800", "1600"}))}
		s["speculation"] = object{"method": pick(d, "method", []string{"medusa", "eagle"}),
			"tokens": 1 + d.random("tokens").IntN(5), "acceptance": 0.6}
		if d.chance("thinking", 0.3) {
			delete(s, "workload")
			s["workload"] = object{"requests": 40, "patience": "2s", "prompt": 60,
				"sessions": object{"turns": 3, "think": "1s", "thinking": 0.5}}
		}
		if _, err := repair(d, s); err != nil {
			continue
		}
		leaps, err := execute(registry, s, 1, false)
		if err != nil {
			continue
		}
		ran++
		steps, err := execute(registry, s, 1, true)
		if err != nil {
			t.Fatal(err)
		}
		if wrong := leaps.differences("stepping", steps); len(wrong) > 0 {
			t.Errorf("scenario %d: %s\n%s", seed, text(s), strings.Join(wrong, "\n"))
		}
	}
	if uint64(ran) < n/2 {
		t.Errorf("only %d of %d scenarios ran", ran, n)
	}
}

// All that holds of drawn scenarios holds where users leave after a patience that is drawn, also
// from the first token on, and where sessions go on from what they had.
func TestAuditOfUsersWhoLeave(t *testing.T) {
	a, n, cut, from := newAuditor(), uint64(testkit.Cases(120)), int64(0), firstSeed()
	for seed := from; seed < from+n; seed++ {
		d := &drawer{seed, a.registry}
		s := drawScenario(a.registry, seed)
		load, ok := s["workload"].(object)
		if !ok {
			continue
		}
		load["patience"] = object{"mean": pick(d, "mean", []string{"50ms", "300ms", "2s"}),
			"from":         pick(d, "from", []string{"arrival", "first-token"}),
			"distribution": "lognormal", "cv": 0.8}
		load["keep-cut"] = d.chance("keep", 0.5)
		if _, err := repair(d, s); err != nil {
			continue
		}
		problems, err := a.audit(s, seed)
		if err != nil {
			continue
		}
		a.ran++
		if len(problems) > 0 {
			t.Errorf("scenario %d: %s\n%s", seed, text(s), strings.Join(problems, "\n"))
		}
		if r, err := execute(a.registry, s, 1, false); err == nil {
			cut += r.result.Cut
		}
	}
	if uint64(a.ran) < n/2 || cut < int64(n) {
		t.Errorf("%d of %d scenarios ran, with %d cut answers", a.ran, n, cut)
	}
}

// processorSeconds returns the time that this process has taken of processors.
func processorSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// auditor draws scenarios, runs them and counts.
type auditor struct {
	registry         *policies.Registry
	drawn, ran, long int
	refused          map[string]int
	seen             map[string]int // how many scenarios that ran had a key
}

func newAuditor() *auditor {
	return &auditor{registry: policies.Default(), refused: map[string]int{},
		seen: map[string]int{}}
}

// counts says how many scenarios were drawn, ran and were refused, and why.
func (a *auditor) counts() string {
	words := fmt.Sprintf("%d drawn, %d ran, %d too long, %d refused", a.drawn, a.ran, a.long,
		a.drawn-a.ran-a.long)
	reasons := slices.SortedFunc(maps.Keys(a.refused), func(x, y string) int {
		return a.refused[y] - a.refused[x]
	})
	for _, why := range reasons[:min(5, len(reasons))] {
		words += fmt.Sprintf("\n\t%d: %.150s", a.refused[why], why)
	}
	return words
}

var figures = regexp.MustCompile(`[0-9][0-9.]*|"[^"]*"`)

// seed audits the scenario of a seed.
func (a *auditor) seed(seed uint64) (object, []string) {
	d := &drawer{seed, a.registry}
	s := drawScenario(a.registry, seed)
	a.drawn++
	if _, err := repair(d, s); err != nil {
		if !scenarios.IsInputError(err) {
			return s, []string{err.Error()}
		}
		_, message := blame(err)
		a.refused[figures.ReplaceAllString(strings.Split(message, "\n")[0], "N")]++
		return s, nil
	}
	problems, err := a.audit(s, seed)
	switch {
	case errors.Is(err, errLong):
		a.long++
	case err != nil && scenarios.IsInputError(err):
		_, message := blame(err)
		a.refused[figures.ReplaceAllString(strings.Split(message, "\n")[0], "N")]++
	case err != nil:
		problems = append(problems, err.Error())
	default:
		a.ran++
		for _, path := range paths("", s) {
			a.seen[entryNumber.ReplaceAllString(path, "[]$1")]++
		}
	}
	return s, problems
}

// audit runs a scenario in all ways, and returns what is wrong.
func (a *auditor) audit(s object, seed uint64) ([]string, error) {
	leaps, err := execute(a.registry, s, 1, false)
	if err != nil {
		return nil, err
	}
	problems := leaps.problems()
	steps, err := execute(a.registry, s, 1, true)
	if err != nil {
		return append(problems, "step by step: "+err.Error()), nil
	}
	problems = append(problems, steps.watch.problems()...)
	problems = append(problems, leaps.differences("stepping", steps)...)
	for _, processors := range []int{2, 5} {
		how := strconv.Itoa(processors) + " processors"
		apart, err := execute(a.registry, s, processors, false)
		if err != nil {
			return append(problems, how+": "+err.Error()), nil
		}
		problems = append(problems, leaps.differences(how, apart)...)
		if string(apart.json) != string(leaps.json) {
			problems = append(problems, how+" give other bytes")
		}
	}
	if seed%3 == 0 {
		wrong := &laws{}
		err := a.explained(wrong, leaps)
		if problems = append(problems, wrong.wrong...); err != nil {
			problems = append(problems, err.Error())
		}
	}
	if seed%*dear == 0 {
		wrong, err := a.outputs(s, leaps, seed)
		if problems = append(problems, wrong...); err != nil {
			problems = append(problems, err.Error())
		}
	}
	l := &laws{}
	words, err := printed(leaps.result)
	l.that(err == nil, "%v", err)
	l.words("text", words)
	return append(problems, l.wrong...), nil
}

// shrink drops keys while a scenario still fails in the same way.
func (a *auditor) shrink(seed uint64, s object, problems []string) object {
	same := func(s object) bool {
		found, err := a.audit(s, seed)
		if err != nil && !errors.Is(err, errLong) && !scenarios.IsInputError(err) {
			found = append(found, err.Error())
		}
		return slices.ContainsFunc(found, func(f string) bool {
			return kind(f) == kind(problems[0])
		})
	}
	for range 4 {
		before := len(text(s))
		for _, path := range slices.Backward(paths("", s)) {
			smaller := copied(s)
			if remove(smaller, path) && same(smaller) {
				s = smaller
			}
		}
		if len(text(s)) == before {
			break
		}
	}
	return s
}

// kind returns the beginning of a problem without its numbers.
func kind(problem string) string {
	line, _, _ := strings.Cut(problem, "\n")
	line = figures.ReplaceAllString(line, "N")
	return line[:min(len(line), 30)]
}

// copied returns a copy of a scenario.
func copied(s object) object { return plainJSON(text(s)) }
