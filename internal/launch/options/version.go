package options

import (
	"regexp"
	"strings"

	"github.com/llmsim/llmsim/models/engines"
)

var dotted = regexp.MustCompile(`(?:^|[^0-9.])v?([0-9]+\.[0-9]+(?:\.[0-9]+)?(?:\.post[0-9]+|rc[0-9]+)?)`)

// VersionOf returns the version that the tag of an engine's image says, such as 0.15.1 of
// vllm/vllm-openai:v0.15.1; zero where it says none.
func VersionOf(image string) engines.Version {
	tag := image[strings.LastIndexByte(image, '/')+1:]
	_, tag, _ = strings.Cut(tag, ":")
	tag, _, _ = strings.Cut(tag, "@")
	if _, after, named := strings.Cut(tag, "vllm_"); named { // rocm7.0.0_vllm_0.11.2
		tag = after
	}
	found := dotted.FindStringSubmatch(tag)
	if found == nil {
		return engines.Version{}
	}
	v, err := engines.ParseVersion(found[1])
	if err != nil {
		return engines.Version{}
	}
	return v
}
