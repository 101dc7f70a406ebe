package scenarios

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
)

// The values of the key are the presets that there are; each says where its figures come from,
// runs, and is the same when the scenario with its defaults filled in is read again.
func TestPresets(t *testing.T) {
	presets, err := Presets()
	testkit.OK(t, err)
	var names []string
	for _, p := range presets {
		names = append(names, p.Name)
		if p.Source == "" {
			t.Errorf("%s has no source", p.Name)
		}
		s := presetScenario(t, "model: llama-3.1-8b\nhardware: h200-sxm\nreplicas: 1\n"+
			"workload: {preset: "+p.Name+", requests: 300, rate: 0.2/s}\n")
		explained, err := s.Explain()
		testkit.OK(t, err)
		first, again := run(t, s), run(t, presetScenario(t, string(explained)))
		if first.Completed != 300 || !reflect.DeepEqual(first.Summary, again.Summary) {
			t.Errorf("%s: %+v, read again %+v", p.Name, first.Summary, again.Summary)
		}
		if (p.Sessions != nil) != (first.Sessions != nil) {
			t.Errorf("%s: sessions %+v", p.Name, first.Sessions)
		}
	}
	for _, kind := range []any{Workload{}, Class{}} {
		f, _ := reflect.TypeOf(kind).FieldByName("Preset")
		if got := strings.Split(f.Tag.Get("enum"), ","); !slices.Equal(got, names) {
			t.Errorf("%T has presets %v, want %v", kind, got, names)
		}
	}
}

// A key that is given takes the place of the preset's, and a class that of the workload.
func TestPresetsYield(t *testing.T) {
	s := presetScenario(t, `model: llama-3.1-8b
hardware: h200-sxm
workload:
  preset: rag
  prompt: 70
  classes:
  - {name: a}
  - {name: b, preset: judges, output: 5}
`)
	a, b := s.Scenario.Workload.Classes[0], s.Scenario.Workload.Classes[1]
	if a.Prompt.Value != 70 || a.Output.Value != 300 || a.Prefix.Groups != 150 ||
		b.Prompt.Mean != 94.5 || b.Output.Value != 5 || b.Sessions.Agents.Count.Value != 3 {
		t.Errorf("%+v, %+v", a, b)
	}
}

// What cannot be is refused at its place.
func TestSessionsRefuse(t *testing.T) {
	for workload, want := range map[string]string{
		"{preset: coding}":            `workload.preset: found "coding"`,
		"{preset: rag, trace: x.csv}": "workload.preset: has no meaning beside a trace",
		"{sessions: {turns: 2, agents: {share: 1, count: 2, turns: 2, prompt: 9}}}": "workload." +
			"sessions: turns: agents: found turns of agents without tools",
		"{sessions: {turns: 2, compact: {at: 200000, to: 9}}}": "workload.sessions: turns: " +
			"compaction at",
		"{sessions: {turns: 2, tools: {share: 2, result: 1}}}": "workload.sessions.tools.share",
		"{sessions: {turns: 1000, tools: {share: 1, result: 1, retries: 0.1}, " +
			"agents: {share: 1, count: 9, turns: 9, prompt: 9}}}": "found up to 902000 calls",
	} {
		file, err := Parse("t.yaml", []byte("model: llama-3.1-8b\nhardware: h200-sxm\n"+
			"workload: "+workload+"\n"))
		if err == nil {
			_, err = file.Build(policies.Default())
		}
		if !IsInputError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", workload, err, want)
		}
	}
}

// presetScenario builds the scenario of a text.
func presetScenario(t *testing.T, text string) *Simulation {
	t.Helper()
	file, err := Parse("test.yaml", []byte(text))
	return build(t, file, err)
}
