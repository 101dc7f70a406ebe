package options

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var dotted = regexp.MustCompile(`(?:^|[^0-9.])v?([0-9]+\.[0-9]+(?:\.[0-9]+)?)`)

// VersionOf returns the version that the tag of an engine's image says, such as 0.15.1 of
// vllm/vllm-openai:v0.15.1; empty where it says none.
func VersionOf(image string) string {
	tag := image[strings.LastIndexByte(image, '/')+1:]
	_, tag, _ = strings.Cut(tag, ":")
	tag, _, _ = strings.Cut(tag, "@")
	if _, after, named := strings.Cut(tag, "vllm_"); named { // rocm7.0.0_vllm_0.11.2
		tag = after
	}
	found := dotted.FindStringSubmatch(tag)
	if found == nil {
		return ""
	}
	return found[1]
}

// before reports whether a version is an earlier one than another, by their numbers.
func before(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		var m, n int
		if i < len(x) {
			m, _ = strconv.Atoi(x[i])
		}
		if i < len(y) {
			n, _ = strconv.Atoi(y[i])
		}
		if m != n {
			return m < n
		}
	}
	return false
}

// in reports whether a version has the option; any has it where the version is not known.
func (o *Option) in(version string) bool {
	return version == "" || (o.Since == "" || !before(version, o.Since)) &&
		(o.Until == "" || before(version, o.Until))
}

// span says which versions have the option.
func (o *Option) span() string {
	switch {
	case o.Until == "":
		return "since " + o.Since
	case o.Since == "":
		return "before " + o.Until
	}
	return fmt.Sprintf("from %s to before %s", o.Since, o.Until)
}
