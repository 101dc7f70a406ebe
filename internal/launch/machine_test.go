package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmsim/llmsim/internal/launch/commands"
	"github.com/llmsim/llmsim/internal/launch/engines"
	"github.com/llmsim/llmsim/internal/testkit"
)

// A fleet that one machine has room for is read back from its file of Docker Compose as it was
// meant, each replica with accelerators and a port that no other has; a larger one gets no such
// file. The folder of the fleet has the texts that it is made of, and no others.
func TestAMachineIsReadAsItWasMeant(t *testing.T) {
	for _, e := range engines.All() {
		rapid.Check(t, func(t *rapid.T) {
			tensor := rapid.SampledFrom([]int{1, 2, 4}).Draw(t, "tensor")
			replicas := rapid.IntRange(1, 10).Draw(t, "replicas")
			preset := map[string]string{"vllm": "vllm-v1"}[e.Name]
			if preset == "" {
				preset = e.Name
			}
			settings := []string{"model=llama-3.1-8b", "hardware=h200-sxm", "engine.preset=" +
				preset,
				fmt.Sprint("parallelism.tensor=", tensor), fmt.Sprint("replicas=", replicas)}
			if pooled := rapid.Bool().Draw(t, "two pools"); pooled {
				settings[4] = fmt.Sprintf("fleet.pools=[{name: a, replicas: 1}, {name: b, "+
					"replicas: %d}]",
					replicas)
				replicas++
			}
			meant, err := build(settings)
			testkit.OK(t, err)
			b, err := NewBundle(meant, e.Name)
			testkit.OK(t, err)
			text, err := b.Compose()
			testkit.OK(t, err)
			if (text != "") != (replicas*tensor <= 8) {
				t.Fatalf("%q: a file of %d bytes", settings, len(text))
			}
			wholeFolder(t, b, text)
			if text == "" {
				return
			}
			if len(b.Servers) == 1 { // pools that are alike are read as one
				sameFleet(t, b, engines.Groups(meant), text)
			}
			documents, err := commands.Decode(text)
			testkit.OK(t, err)
			all, _ := commands.At(documents[0], "services").(map[string]any)
			ports, devices := map[string]bool{}, map[string]bool{}
			for _, service := range all {
				list, _ := commands.At(service, "ports").([]any)
				for _, port := range list {
					ports[strings.Split(fmt.Sprint(port), ":")[0]] = true
				}
				reserved, _ := commands.At(service, "deploy", "resources", "reservations",
					"devices").([]any)
				for _, device := range reserved {
					ids, _ := commands.At(device, "device_ids").([]any)
					for _, id := range ids {
						devices[fmt.Sprint(id)] = true
					}
				}
			}
			if len(all) != replicas || len(ports) != replicas || len(devices) != replicas*tensor {
				t.Fatalf("%d services, %d ports, %d accelerators for %d replicas of %d:\n%s",
					len(all),
					len(ports), len(devices), replicas, tensor, text)
			}
		})
	}
}

// wholeFolder writes a fleet and checks what is in its folder.
func wholeFolder(t *rapid.T, b *Bundle, compose string) {
	base, err := os.MkdirTemp("", "fleet")
	testkit.OK(t, err)
	defer os.RemoveAll(base)
	dir := filepath.Join(base, "fleet")
	testkit.OK(t, b.Write(dir))
	if err := b.Write(dir); err == nil {
		t.Errorf("a fleet is written over another")
	}
	script, err := b.Script()
	testkit.OK(t, err)
	manifests, err := b.Manifests()
	testkit.OK(t, err)
	gateway, err := b.LLMD()
	testkit.OK(t, err)
	graph, _, err := b.Dynamo()
	testkit.OK(t, err)
	want := map[string]string{"start.sh": script, "kubernetes.yaml": manifests,
		"compose.yaml": compose,
		"llm-d.yaml":   gateway, "dynamo.yaml": graph}
	for i := range b.Servers {
		want[b.Servers[i].ConfigFile] = b.Servers[i].Config
	}
	entries, err := os.ReadDir(dir)
	testkit.OK(t, err)
	var names, all []string
	for _, entry := range entries {
		names = append(names, entry.Name())
		info, err := entry.Info()
		testkit.OK(t, err)
		if runs := info.Mode()&0o100 != 0; runs != (entry.Name() == "start.sh") {
			t.Errorf("%s has the mode %v", entry.Name(), info.Mode())
		}
		text := testkit.Read(t, filepath.Join(dir, entry.Name()))
		if expected, is := want[entry.Name()]; is && string(text) != expected {
			t.Errorf("%s is\n%s", entry.Name(), text)
		}
	}
	for name, text := range want {
		if text != "" {
			all = append(all, name)
		}
	}
	all = append(all, "NOTES.md")
	slices.Sort(all)
	if slices.Sort(names); !slices.Equal(names, all) {
		t.Errorf("the folder has %q, want %q", names, all)
	}
	notes := string(testkit.Read(t, filepath.Join(dir, "NOTES.md")))
	for _, words := range []string{"The flags are checked against the list of " + b.Engine + " " +
		b.Flags,
		fmt.Sprintf("the claim %s of %d GiB that allows %s", b.Claim(), b.Storage(), b.Access()),
		"longest answer: 120 s"} {
		if !strings.Contains(notes, words) {
			t.Errorf("%q is not in the notes\n%s", words, notes)
		}
	}
	for _, note := range b.Notes {
		if !strings.Contains(notes, "\n- "+note+"\n") {
			t.Errorf("%q is not in the notes\n%s", note, notes)
		}
	}
}
