package scenarios

import "runtime/debug"

// Version returns the version of llmsim: the module's version, or the commit that it was built
// from.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	version := "devel"
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			version += "-" + s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			version += "-modified"
		}
	}
	return version
}
