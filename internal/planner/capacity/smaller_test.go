package capacity

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/testkit"
)

// struckOff is a question, a menu, and the menu with something struck off.
type struckOff struct {
	question, all, few string
	lists              map[string][]string // of the whole menu
}

// menuWords writes a menu.
func menuWords(lists map[string][]string) string {
	var keys []string
	for _, k := range slices.Sorted(maps.Keys(lists)) {
		keys = append(keys, k+": ["+strings.Join(lists[k], ", ")+"]")
	}
	return "menu: {" + strings.Join(keys, ", ") + "}\n"
}

// drawnMenus draws questions and menus.
func drawnMenus(t *rapid.T) struckOff {
	lists := map[string][]string{
		"hardware":      {"l40s", "a100-80gb-sxm", "h100-sxm", "h200-sxm"},
		"tensor":        {"1", "2"},
		"weights":       {"bf16", "fp8"},
		"routing":       {"round-robin", "least-requests"},
		"kv-cache":      {"bf16", "fp8"},
		"batching":      {"{token-budget: 1024}", "{token-budget: 4096}"},
		"disaggregated": {"{prefill: 1, decode: 1}", "{prefill: 1, decode: 2}"},
	}
	for _, k := range []string{"weights", "routing", "kv-cache", "batching", "disaggregated"} {
		if rapid.IntRange(0, 2).Draw(t, k) > 0 {
			delete(lists, k)
		}
	}
	m := struckOff{all: menuWords(lists), lists: maps.Clone(lists)}
	for _, k := range slices.Sorted(maps.Keys(lists)) {
		list := lists[k]
		if at := rapid.IntRange(0, 2*len(list)-1).Draw(t, "without "+k); at < len(list) {
			lists[k] = slices.Delete(slices.Clone(list), at, at+1)
		}
	}
	m.few = menuWords(lists)
	m.question = fmt.Sprintf("model: %s\nworkload: {rate: %d/s, prompt: %d, output: %d}\n"+
		"slo: {ttft: %dms, tpot: %dms}\neffort: {requests: 100, most-requests: 400}\n",
		rapid.SampledFrom([]string{"llama-3.1-8b", "qwen3-14b", "mistral-7b"}).Draw(t, "model"),
		rapid.IntRange(1, 30).Draw(t, "rate"),
		rapid.SampledFrom([]int{200, 1000, 4000}).Draw(t, "prompt"),
		rapid.SampledFrom([]int{20, 200, 600}).Draw(t, "output"),
		rapid.SampledFrom([]int{300, 1000, 4000}).Draw(t, "ttft"),
		rapid.SampledFrom([]int{20, 40, 100}).Draw(t, "tpot"))
	return m
}

// A menu from which something is struck off never has a cheaper answer, settings that are tried
// beside the menu included: so that a setting which makes a policy of the menu the cheapest is
// found, although the policy is far from it without.
func TestSmallerMenusAreNotCheaper(t *testing.T) {
	testkit.Dear(t)
	var all []int
	for seed := range 1000 {
		all = append(all, seed)
	}
	generator := rapid.Custom(drawnMenus)
	var cases []struckOff
	for _, seed := range testkit.DrawCases(t, 2**pairs, all) {
		cases = append(cases, generator.Example(seed))
	}
	const memory = "menu: {hardware: [h200-sxm], tensor: [8], routing: [session-affinity], " +
		"memory: [%s{policy: offload, cpu: 512GiB, price: $0.0034/h}]}\n"
	agents, err := asked.Read("host-memory")
	testkit.OK(t, err)
	question, _, _ := strings.Cut(string(agents), "menu:")
	cases = append(cases, struckOff{question: question,
		all: fmt.Sprintf(memory, "{policy: prefix-cache}, "),
		few: strings.Replace(memory, "%s{policy: offload, cpu: 512GiB, price: $0.0034/h}",
			"{policy: prefix-cache}", 1)})
	// With its defaults an H100 is 2.3 times as dear here as the answer, and the least of all with
	// others.
	cases = append(cases, struckOff{question: "model: llama-3.1-8b\n" +
		"workload: {rate: 19/s, prompt: 4000, output: 20}\nslo: {ttft: 4s, tpot: 20ms}\n" +
		"effort: {requests: 100, most-requests: 400}\n",
		all: "menu: {hardware: [h100-sxm, h200-sxm], tensor: [1, 2]}\n",
		few: "menu: {hardware: [h100-sxm], tensor: [1]}\n"})
	q := testQueue(t)
	for _, m := range cases {
		_, all, best := foundHourly(t, q, m.question+m.all)
		if _, few, other := foundHourly(t, q, m.question+m.few); all > few {
			t.Errorf("$%g/h for %s of\n%s$%g/h for %s of\n%s%s", all, best, m.all, few, other,
				m.few, m.question)
		}
	}
}

// The same holds of jobs, by what the whole job costs, and of fleets that follow a load: at the
// settings of the menu, and with others up to what these must save to be taken.
func TestSmallerMenusOfJobsAndScaledFleetsAreNotCheaper(t *testing.T) {
	q := testQueue(t)
	draws, strikes := 2, 1
	if testkit.Drawn(t.Name()) {
		draws, strikes = 2**pairs, 10
	}
	const waves = "model: llama-3.1-8b\nworkload: {rate: {pattern: wave, average: %d/s, " +
		"swing: 0.9, period: 2m}, duration: 2m, prompt: 600, output: 60}\n" +
		"slo: {ttft: 2s, tpot: 60ms, percentile: 90}\n" +
		"effort: {requests: 100, most-requests: 200}\n"
	for draw := range draws {
		m := rapid.Custom(drawnMenus).Example(draw)
		delete(m.lists, "disaggregated")
		delete(m.lists, "routing")
		question, _, _ := strings.Cut(m.question, "slo:")
		question = strings.Replace(question, "rate: ", "prefix: {tokens: 64, groups: ", 1)
		question = strings.Replace(question, "/s,", "},", 1) +
			fmt.Sprintf("job: {requests: %d, within: 5m}\n", 1000+500*draw)
		if draw%2 == 1 {
			question = fmt.Sprintf(waves, 4+draw)
			m.lists["hardware"] = []string{"{accelerator: l40s, count: 3}",
				"{accelerator: a100-80gb-sxm, count: 3}"}
			m.lists["tensor"] = []string{"1"}
			m.lists["scaling"] = []string{"{policy: outstanding, target: 4, min: 1..2}",
				"{policy: utilization, target: 0.7, min: 1}"}
		}
		if draw%2 == 1 {
			first := strings.Replace(question, "{requests: 100", "{level: first, requests: 100", 1)
			notCheaper(t, m.lists, strikes, 1-1e-9, func(lists map[string][]string) (float64,
				string) {
				_, hourly, fleet := foundHourly(t, q, first+menuWords(lists))
				return hourly, fleet
			})
		}
		price := func(lists map[string][]string) (float64, string) {
			s, hourly, fleet := foundHourly(t, q, question+menuWords(lists))
			if j, ok := s.goal.(*jobGoal); ok && s.best >= 0 {
				return j.all[0].dollars, fleet
			}
			return hourly, fleet
		}
		t.Log(question)
		least := 1 - 1e-9
		if draw%2 == 1 {
			least = 1 - worthTuning
		}
		notCheaper(t, m.lists, strikes, least, price)
	}
}

// notCheaper fails where a menu from which something is struck off costs less than least times what
// the whole menu does.
func notCheaper(t *testing.T, lists map[string][]string, strikes int, least float64,
	price func(map[string][]string) (float64, string)) {
	t.Helper()
	all, best := price(lists)
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(lists)), func(key string) bool {
		return len(lists[key]) == 1
	})
	for _, key := range keys[:min(len(keys), strikes)] {
		few := maps.Clone(lists)
		few[key] = few[key][1:]
		if less, other := price(few); less < all*least {
			t.Errorf("$%g for %s of\n%s$%g for %s of\n%s", all, best, menuWords(lists), less, other,
				menuWords(few))
		}
	}
	t.Logf("$%.4g for %s", all, best)
}

// foundHourly returns what was found of a plan, its price, infinite without a fleet, and the fleet
// in words.
func foundHourly(t *testing.T, q *queue.Queue, text string) (*finding, float64, string) {
	f, err := asked.Parse("plan.yaml", []byte(text))
	testkit.OK(t, err)
	s, err := find(t.Context(), f, q, Options{})
	testkit.OK(t, err)
	if s.best < 0 {
		return s, math.Inf(1), "no fleet"
	}
	return s, s.cost(), fmt.Sprintf("%d of %s", s.size(), s.label(s.best))
}

// Each price in the table is what the plan answers where the row's accelerator and parallelism are
// the whole menu, settings that are tried beside the menu included, and each bound is at most that;
// the fleet of each price keeps the SLO when that very fleet is simulated with its spares down.
func TestEachRowIsThePlanOfItsHardware(t *testing.T) {
	testkit.Dear(t)
	var all []int
	for seed := range 1000 {
		all = append(all, seed)
	}
	q, priced, bounded := testQueue(t), 0, 0
	for _, seed := range testkit.DrawCases(t, 2**pairs, all) {
		m := rapid.Custom(drawnMenus).Example(seed)
		delete(m.lists, "disaggregated")
		question := m.question + fmt.Sprintf("fleet: {spare: %d}\n", seed%2)
		s, cost, _ := foundHourly(t, q, question+menuWords(m.lists))
		shapes, _, err := (&cheapestGoal{fleetGoal{s.search}}).shapes(t.Context())
		testkit.OK(t, err)
		for _, sh := range shapes {
			lists := maps.Clone(m.lists)
			lists["hardware"], lists["tensor"] = []string{sh.Accelerator},
				[]string{fmt.Sprint(sh.GPUs)}
			_, alone, fleet := foundHourly(t, q, question+menuWords(lists))
			switch {
			case sh.Replicas > 0:
				priced++
				n, o := sh.Replicas-s.Spare, s.options[sh.Option]
				kept, _, err := s.Keeps(t.Context(), o, n, o.Worst(), s.Seeds)
				testkit.OK(t, err)
				if !kept || math.Abs(sh.Hourly-alone) > 1e-9 || sh.Hourly < cost-1e-9 {
					t.Errorf("%d of %s for $%g/h (kept: %v), alone %s for $%g/h, the answer "+
						"$%g/h:\n%s%s", sh.Replicas, sh.Label, sh.Hourly, kept, fleet, alone,
						cost, question, menuWords(m.lists))
				}
			case sh.AtLeast > 0:
				bounded++
				if alone < sh.AtLeast-1e-9 || alone < cost-1e-9 {
					t.Errorf("%s for $%g/h at least, alone %s for $%g/h, the answer $%g/h:\n%s%s",
						sh.Label, sh.AtLeast, fleet, alone, cost, question, menuWords(m.lists))
				}
			case !math.IsInf(alone, 1) && s.best >= 0 || sh.Limit == "" || sh.Hourly > 0:
				t.Errorf("%+v, alone %s for $%g/h", sh, fleet, alone)
			}
		}
	}
	if priced == 0 || bounded == 0 {
		t.Errorf("%d rows have a price and %d a bound: no test of both", priced, bounded)
	}
}

// A fleet may keep an SLO that no replica keeps alone at any load, since a router shares requests
// more evenly than chance does: the plan for such a server alone has the fleet that it has on a
// larger menu, and one replica fewer misses the SLO.
func TestAFleetMayKeepWhatNoReplicaDoes(t *testing.T) {
	const question = "model: qwen3-14b\nworkload: {rate: 2/s, prompt: 4000, output: 20}\n" +
		"slo: {ttft: 1000ms, tpot: 20ms}\neffort: {requests: 100, most-requests: 400}\n" +
		"fleet: {spare: 1}\nmenu: {batching: [{token-budget: 1024}], tensor: [1], hardware: "
	q := testQueue(t)
	s, alone, fleet := foundHourly(t, q, question+"[h200-sxm]}\n")
	if math.IsInf(alone, 1) {
		t.Fatal("no fleet of one H200 each")
	}
	if _, all, other := foundHourly(t, q, question+"[a100-80gb-sxm, h200-sxm]}\n"); all != alone {
		t.Errorf("%s for $%g/h alone, %s for $%g/h of two", fleet, alone, other, all)
	}
	o, n := s.chosen(), s.outcomes[s.best].replicas
	for replicas, want := range map[int]bool{n: true, n - 1: false} {
		if kept, _, err := s.Keeps(t.Context(), o, replicas, o.Worst(), s.Seeds); kept != want ||
			err != nil {
			t.Errorf("%d of %s keep it: %v, %v", replicas, s.label(s.best), kept, err)
		}
	}
	if v, err := s.Enough(t.Context(), o, s.Most(o)); err != nil || v.Sustained {
		t.Errorf("a replica alone keeps it at no load: %v, %v", v.Sustained, err)
	}
}
