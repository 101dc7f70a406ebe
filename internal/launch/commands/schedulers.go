package commands

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// machine is what a job asks a scheduler for: the accelerator of each node, as the scheduler names
// it, and how many; empty and 0 where that is not said, or where several would do.
type machine struct {
	product      string
	accelerators int
}

var (
	// slurmLine is a line of a script for Slurm that asks for resources, or starts a step.
	slurmLine = regexp.MustCompile(`(?m)^[ \t]*(?:#+SBATCH|srun|salloc|sbatch)[ \t].*$`)
	// slurmGPUs asks for GPUs: --gres=gpu:h100:4, -G A100:4, --gpus-per-node 8
	// (https://slurm.schedmd.com/sbatch.html).
	slurmGPUs = regexp.MustCompile(`(?:--gres[= ]gpu|-G|--gpus(?:-per-(?:node|task))?)[=: ]+` +
		`(?:([A-Za-z][\w.-]*):)?(\d+)\b`)
	// ofMemory is the size of a GPU's memory, as dstack takes it.
	ofMemory = regexp.MustCompile(`^\d+GB$`)
)

// slurm returns what a script asks Slurm for.
func slurm(text string) (m machine) {
	for _, line := range slurmLine.FindAllString(text, mostDocuments) {
		if found := slurmGPUs.FindStringSubmatch(line); found != nil {
			m.product = found[1]
			m.accelerators, _ = strconv.Atoi(found[2]) // beyond the range it has no meaning
		}
	}
	return m
}

// skyPilot returns what the resources of a task of SkyPilot ask for: H100:8, {H100: 8}, or several,
// and takes the cheapest (docs/source/reference/yaml-spec.rst of skypilot-org/skypilot).
func skyPilot(accelerators any) machine {
	var choices []string
	switch v := accelerators.(type) {
	case string:
		choices = []string{v}
	case []any:
		choices = stringsOf(v)
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if n, ok := v[name].(int); ok {
				name = fmt.Sprintf("%s:%d", name, n)
			}
			choices = append(choices, name)
		}
	}
	m, first := machine{}, true
	for _, choice := range choices {
		name, digits, counted := strings.Cut(choice, ":")
		n, err := strconv.Atoi(digits)
		if !counted {
			n, err = 1, nil
		}
		if err != nil || n < 1 {
			return machine{}
		}
		if name == "A100" { // which is the one with 40 GB there
			name = "A100-40GB"
		}
		switch {
		case first:
			m = machine{name, n}
		case m.accelerators != n:
			return machine{}
		default:
			m.product = ""
		}
		first = false
	}
	return m
}

// dstack returns what the resources of a service of dstack ask for: H100:8, A100:80GB:2, 24GB, or
// these as fields (https://dstack.ai/docs/reference/dstack.yml/service).
func dstack(gpu any) (m machine) {
	m.accelerators = 1
	memory := ""
	switch v := gpu.(type) {
	case int:
		m.accelerators = v
	case string:
		for part := range strings.SplitSeq(v, ":") {
			switch n, err := strconv.Atoi(part); {
			case err == nil:
				m.accelerators = n
			case ofMemory.MatchString(part):
				memory = part
			case strings.Contains(part, "..") && !strings.Contains(part, "GB"):
				m.accelerators = 0
			case !strings.Contains(part, "GB") && !strings.Contains(part, ","):
				m.product = part
			}
		}
	case map[string]any:
		m.product, _ = v["name"].(string)
		memory, _ = v["memory"].(string)
		if n, ok := v["count"].(int); ok {
			m.accelerators = n
		} else if v["count"] != nil {
			m.accelerators = 0
		}
	default:
		return machine{}
	}
	if m.product == "A100" && memory == "40GB" {
		m.product = "A100-40GB"
	}
	return m
}

// tell gives a script the variables that its scheduler sets.
func (m machine) tell(set variables) {
	if m.accelerators < 1 {
		return
	}
	for _, name := range []string{counts, "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE",
		"SKYPILOT_NUM_GPUS_PER_NODE", "DSTACK_GPUS_NUM", "DSTACK_GPUS_PER_NODE"} {
		if !set.given[name] {
			set.values[name] = strconv.Itoa(m.accelerators)
		}
	}
}
