package ask

import (
	"slices"
	"strings"
)

// version takes the release of the engine that the text names, unless an image or an option does:
// vllm==0.6.2, SGLang v0.4.3. Of several nothing follows.
func (p *Paste) version(prose []string, given []string) {
	if p.Reading == nil {
		return
	}
	said := func(key string) bool {
		return slices.ContainsFunc(slices.Concat(p.Reading.Settings, given), func(s string) bool {
			return strings.HasPrefix(s, key) || strings.HasPrefix(s, "engine=")
		})
	}
	var found []string
	for _, line := range prose {
		for _, m := range p.release.FindAllStringSubmatch(line, 20) {
			engine := strings.Replace(strings.ToLower(m[1]), "tensorrt-llm", "trtllm", 1)
			if engine == p.Reading.Engine && !slices.Contains(found, m[2]) {
				found = append(found, m[2])
			}
		}
	}
	switch {
	case len(found) == 0 || said("engine.version="):
	case len(found) > 1:
		p.assume("the text names the releases %s: --set engine.version gives the one that was "+
			"measured", strings.Join(found, ", "))
	default:
		p.Reading.Settings = append(p.Reading.Settings, "engine.version="+found[0])
		if !said("engine.preset=") {
			p.Reading.Settings = append(p.Reading.Settings, "engine.preset="+p.Reading.Engine)
		}
	}
}
