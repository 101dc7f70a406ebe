package ask

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
)

// accelerator finds the accelerators that the text names.
func (p *Paste) accelerator(prose []string, given string) error {
	if p.Reading != nil && slices.ContainsFunc(p.Reading.Settings, func(s string) bool {
		return strings.HasPrefix(s, "hardware=") || strings.HasPrefix(s, "hardware.accelerator=")
	}) && given == "" {
		return nil
	}
	catalog, err := hardware.Load()
	if err != nil {
		return err
	}
	if given != "" {
		a, err := catalog.Accelerator(given)
		p.GPU = a.Name
		return err
	}
	byName, names := map[string]string{}, map[string]int{}
	for i := range catalog.Accelerators {
		a := &catalog.Accelerators[i]
		for _, name := range append(a.Aliases[:len(a.Aliases):len(a.Aliases)], a.Name) {
			if a.Kind != "cpu" {
				byName[name] = a.Name
			}
		}
	}
	for _, line := range prose {
		for name := range p.gpus(byName, line) {
			names[name]++
		}
	}
	if len(names) == 0 {
		p.lacks = append(p.lacks, "the accelerator (--gpu h100-sxm; llmsim list hardware)")
		return nil
	}
	list := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		if names[a] != names[b] {
			return names[b] - names[a]
		}
		return strings.Compare(a, b)
	})
	p.GPU = list[0]
	if len(list) > 1 {
		p.Assumed = append(p.Assumed, fmt.Sprintf("of the accelerators %s, the server runs on %s; "+
			"--gpu names another", strings.Join(list, ", "), list[0]))
	}
	return nil
}

// gpus returns the accelerators of a line, given their names by all names.
func (f *forms) gpus(names map[string]string, line string) map[string]bool {
	found := map[string]bool{}
	var words []string
	for _, word := range f.word.FindAllString(f.count.ReplaceAllString(line, " "), 400) {
		// A label of a node, such as NVIDIA-A100-SXM4-80GB.
		if maker, _, _ := strings.Cut(word, "-"); strings.EqualFold(maker, "nvidia") ||
			strings.EqualFold(maker, "amd") {
			words = append(words, strings.Split(word, "-")...)
			continue
		}
		words = append(words, word)
	}
	for i := 0; i < len(words); i++ {
		for n := min(4, len(words)-i); n > 0; n-- {
			name := strings.ToLower(strings.Join(words[i:i+n], "-"))
			if names[name] == "" { // 2 H100s
				name = strings.TrimSuffix(name, "s")
			}
			own := words[i][:min(len(name), len(words[i]))]
			short := len(name) <= 4 && (own != strings.ToUpper(own) ||
				strings.Trim(name, "0123456789") == "")
			if called := names[name]; called != "" && !short {
				found[called] = true
				i += n - 1
				break
			}
		}
	}
	return found
}
