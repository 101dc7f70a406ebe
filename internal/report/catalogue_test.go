package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// nonsense is what no text for people says: figures that do not exist, and slips of formats.
var nonsense = regexp.MustCompile(`NaN|\bInf\b|9,223,372|%!|(^|\s)-0\b|(^|[^.,0-9])1 (bytes|tokens|users|sequences|accelerators|contexts)\b`)

// What the catalogue holds is explained in figures that exist, within 80 columns: each model on
// machines that differ in everything, from a desktop to the largest accelerator, whether it fits or
// not.
func TestTextsOfTheCatalogue(t *testing.T) {
	catalogue, err := models.Load()
	testkit.OK(t, err)
	machines, err := hardware.Load()
	testkit.OK(t, err)
	desktop, err := machines.Accelerator("desktop-50gbs")
	testkit.OK(t, err)
	fit := 0
	for i, model := range catalogue.All() {
		if testing.Short() && i%4 != 0 {
			continue
		}
		for _, machine := range []string{"desktop-50gbs", "l4", "h100-sxm", "mi300x", "b300"} {
			name := model.Name + " on " + machine
			tensor := []string{"1", "8"}[i%2]
			file, err := scenarios.Describe(model.Name, machine, "parallelism={tensor: "+tensor+"}")
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			memory, err := file.Memory(policies.Default())
			if err != nil {
				continue // such as more accelerators than heads
			}
			check(t, name+", memory", Memory(memory))
			steps, err := file.Steps(policies.Default())
			if err != nil {
				continue
			}
			fit++
			check(t, name+", lesson", NewLesson(steps, desktop, 512, 1024).Blocks())
			check(t, name+", roofline", NewRoofline(steps, []int{128, 2048}, []int{1, 256},
				1024).Blocks())
		}
	}
	if fit < 30 {
		t.Errorf("only %d pairs of a model and a machine were explained", fit)
	}
}

// check prints a text and looks for what must not be in it.
func check(t *testing.T, name string, blocks doc.Blocks) {
	t.Helper()
	var out bytes.Buffer
	if err := doc.Print(&out, blocks); err != nil || out.Len() == 0 {
		t.Errorf("%s: %d bytes, %v", name, out.Len(), err)
	}
	if found := nonsense.FindString(out.String()); found != "" {
		t.Errorf("%s: found %q in\n%s", name, found, out.String())
	}
	for line := range strings.Lines(out.String()) {
		if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 80 {
			t.Errorf("%s: a line has %d columns: %s", name, n, line)
		}
	}
}

// The lists have a line for everything that there is.
func TestListsAreWhole(t *testing.T) {
	catalogue, err := models.Load()
	testkit.OK(t, err)
	machines, err := hardware.Load()
	testkit.OK(t, err)
	list, lines := ModelList(catalogue), HardwareList(machines)
	check(t, "models", Models(list))
	check(t, "accelerators", Hardware(lines))
	check(t, "links", Links(LinkList(machines)))
	check(t, "policies", Policies(PolicyList(policies.Default())))
	for i, m := range catalogue.All() {
		if e := list[i]; e.Name != m.Name || e.Active > e.Parameters || e.Weights <= 0 {
			t.Errorf("%s is listed as %+v", m.Name, e)
		}
	}
	for i, a := range machines.Accelerators {
		if e := lines[i]; e.Name != a.Name || e.Memory != a.Memory || e.Bandwidth != a.Bandwidth {
			t.Errorf("%s is listed as %+v", a.Name, e)
		}
	}
}
