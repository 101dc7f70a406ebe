package ask

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
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
	byName, names, others := map[string]string{}, map[string]int{}, map[string]string{}
	for i := range catalog.Accelerators {
		a := &catalog.Accelerators[i]
		for _, name := range append(a.Aliases[:len(a.Aliases):len(a.Aliases)], a.Name) {
			if a.Kind != "cpu" {
				byName[name] = a.Name
			}
		}
	}
	for _, line := range prose {
		for name, size := range p.gpus(byName, line) {
			sized, other := p.ofSize(catalog, name, size, p.count.MatchString(line))
			names[sized]++
			if other != "" {
				others[sized] = other
			}
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
	if other := others[p.GPU]; other != "" {
		p.assume("%s", other)
	}
	return nil
}

// The memory of an accelerator that a program sees over the size by which it is sold, at least and
// at most: a B300 of 288 GB shows 251 GiB. Of an Apple chip three quarters are the GPU's.
const (
	leastSeen, mostSeen = 0.85, 1.06
	appleShare          = 0.75
)

// ofSize returns the accelerator of the family of a named one, as h100 is, that has a size in GB; 0
// is any size. counted says that the size may be that of several. Where no accelerator of the form
// of the named one has the size, words say what is assumed.
func (f *forms) ofSize(catalog hardware.Catalog, named string, size float64, counted bool) (name,
	words string) {
	family := f.family.FindString(named)
	form := named[strings.LastIndex(named, "-")+1:]
	var found, there []string
	for i := range catalog.Accelerators {
		a := &catalog.Accelerators[i]
		if a.Name != named && a.Name != family && !strings.HasPrefix(a.Name, family+"-") {
			continue
		}
		memory := float64(a.Memory) / (1 << 30)
		if a.Generation == "apple" {
			memory /= appleShare
		}
		times := 1.0
		if counted {
			times = max(1, math.Round(size/memory))
		}
		there = append(there, fmt.Sprintf("%s (%.0f GiB)", a.Name, memory))
		share := memory * times / size
		switch {
		case size > 0 && (share < leastSeen || share > mostSeen):
		case a.Name == named:
			return named, ""
		default:
			found = append(found, a.Name)
		}
	}
	for _, name := range found {
		if strings.HasSuffix(name, "-"+form) {
			return name, ""
		}
	}
	if len(found) > 0 {
		return found[0], fmt.Sprintf("the %s of %.0f GB is read as %s; --gpu names another",
			family, size, found[0])
	}
	return named, fmt.Sprintf("no %s of %.0f GB is known: the server runs on %s, of %s; --gpu "+
		"names another", family, size, named, strings.Join(there, ", "))
}

// gpus returns the accelerators of a line, given their names by all names, with the sizes in GB
// that stand beside them, or 0.
func (f *forms) gpus(names map[string]string, line string) map[string]float64 {
	found := map[string]float64{}
	line = f.count.ReplaceAllString(line, " ")
	var words [][2]int // where they begin and end
	for _, at := range f.word.FindAllStringIndex(line, 400) {
		// A label of a node, such as NVIDIA-A100-SXM4-80GB.
		word := line[at[0]:at[1]]
		if maker, _, _ := strings.Cut(word, "-"); strings.EqualFold(maker, "nvidia") ||
			strings.EqualFold(maker, "amd") {
			for part := range strings.SplitSeq(word, "-") {
				words = append(words, [2]int{at[0], at[0] + len(part)})
				at[0] += len(part) + 1
			}
			continue
		}
		words = append(words, [2]int{at[0], at[1]})
	}
	read := 0 // where the part of the line ends that is read
	for i := 0; i < len(words); i++ {
		for n := min(4, len(words)-i); n > 0; n-- {
			var parts []string
			for _, at := range words[i : i+n] {
				parts = append(parts, line[at[0]:at[1]])
			}
			name := strings.ToLower(strings.Join(parts, "-"))
			if names[name] == "" { // 2 H100s
				name = strings.TrimSuffix(name, "s")
			}
			own := parts[0][:min(len(name), len(parts[0]))]
			short := len(name) <= 4 && (own != strings.ToUpper(own) ||
				strings.Trim(name, "0123456789") == "")
			if called := names[name]; called != "" && !short {
				size, end := f.sizeBeside(line[read:words[i][0]], line[words[i+n-1][1]:])
				if strings.Contains(name, "gb") {
					size, end = 0, 0
				}
				read = words[i+n-1][1] + end
				found[called] = max(found[called], size)
				i += n - 1
				break
			}
		}
	}
	return found
}

// sizeBeside returns the size in GB that stands behind the name of an accelerator, or else before
// it, with the end of what it read behind; 0 without one. A size of something else, such as of the
// host's memory, says so.
func (f *forms) sizeBeside(before, behind string) (size float64, end int) {
	if m := f.behind.FindStringSubmatch(behind); m != nil && m[2] == "" {
		size, _ = strconv.ParseFloat(m[1], 64)
		return size, len(m[0])
	}
	if m := f.before.FindStringSubmatch(before); m != nil {
		size, _ = strconv.ParseFloat(m[1], 64)
	}
	return size, 0
}
