package engines

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
)

// Release is an engine in one version.
type Release struct {
	*Engine
	// Preset is the name of the constants that describe the version.
	Preset string
	// Version is the version that was asked for, or the newest one with evidence. It is the zero
	// Version if the registry has no versions of the engine.
	Version Version
	// Measured is the version whose servers were measured that is nearest to Version. It is the
	// zero Version if no version of the preset was measured.
	Measured Version
	// Asked reports whether the version was given.
	Asked bool
}

// Find returns the release of an engine or of a preset, at a version. An empty version means the
// newest with measured servers. A preset takes only versions that it describes.
func Find(name, version string) (Release, error) {
	e, preset := lookUp(name)
	if e == nil {
		return Release{}, unknown(name)
	}
	r := Release{Engine: e, Preset: preset, Asked: version != ""}
	switch v, err := ParseVersion(version); {
	case version == "":
		r.Version = e.newest(preset)
	case err != nil:
		return Release{}, err
	case len(e.Evidence) == 0:
		return Release{}, fmt.Errorf("%s has one set of constants, for all of its versions; leave "+
			"the version out", e.Title)
	default:
		r.Version = v
	}
	if preset == "" {
		r.Preset = e.presetOf(r.Version)
	} else if p := e.preset(preset); !r.Version.IsZero() && !p.Versions.Has(r.Version) {
		return Release{}, fmt.Errorf("%s describes %s %s, and not %s; the constants of that "+
			"version are those of %s", preset, e.Title, p.Versions, r.Version,
			e.presetOf(r.Version))
	}
	r.Measured = e.nearest(r.Preset, r.Version)
	return r, nil
}

// presetOf returns the preset of a version: the last one whose range has it.
func (e *Engine) presetOf(v Version) string {
	name := e.Presets[len(e.Presets)-1].Name
	for _, p := range e.Presets {
		if !v.IsZero() && p.Versions.Has(v) {
			name = p.Name
		}
	}
	return name
}

// lookUp returns the engine of that name, or the engine of the preset of that name and the preset.
func lookUp(name string) (e *Engine, preset string) {
	for _, e := range All() {
		if e.Name == name {
			return e, ""
		}
	}
	for _, e := range All() {
		if e.preset(name) != nil {
			return e, name
		}
	}
	return nil, ""
}

// unknown returns the error for a name that is neither an engine nor a preset.
func unknown(name string) error {
	var names []string
	for _, e := range All() {
		names = append(names, e.Name)
		for _, p := range e.Presets {
			if p.Name != e.Name {
				names = append(names, p.Name)
			}
		}
	}
	return fmt.Errorf("%s", nearest.Unknown("engine", name, names))
}

// preset returns the preset of that name, or nil.
func (e *Engine) preset(name string) *Preset {
	i := slices.IndexFunc(e.Presets, func(p Preset) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &e.Presets[i]
}

// newest returns the newest version with evidence that is not narrow, of a preset, or of the engine
// if preset is empty.
func (e *Engine) newest(preset string) Version {
	var newest Version
	for _, v := range e.Evidence {
		if (preset == "" || v.Preset == preset) && !v.Narrow {
			newest = v.Version
		}
	}
	return newest
}

// nearest returns the measured version of a preset that is nearest to v: the newest one that is not
// newer, or else the oldest.
func (e *Engine) nearest(preset string, v Version) Version {
	var near Version
	for _, m := range e.Evidence {
		if m.Preset == preset && (near.IsZero() || m.Version.Compare(v) <= 0) {
			near = m.Version
		}
	}
	return near
}

// Notes says what a reader should know of the distance between the version that was asked for and
// the versions that were measured. It returns nil if servers of the version were measured.
func (r *Release) Notes() []string {
	if !r.Asked || r.Measured.Compare(r.Version) == 0 {
		return nil
	}
	measured := make([]string, 0, len(r.Evidence))
	for _, e := range r.Evidence {
		measured = append(measured, e.Version.String())
	}
	which := "was not measured"
	switch {
	case r.Version.Compare(r.Evidence[0].Version) < 0:
		which = "is older than any that was measured"
	case r.Version.Compare(r.Evidence[len(r.Evidence)-1].Version) > 0:
		which = "is newer than any that was measured"
	}
	nearest := "its constants rest on no server of theirs"
	if !r.Measured.IsZero() {
		nearest = fmt.Sprintf("the nearest one whose constants are taken is %s", r.Measured)
	}
	return []string{fmt.Sprintf("%s %s %s: %s (servers of %s were)", r.Title, r.Version, which,
		nearest, strings.Join(measured, ", "))}
}
