package options

import (
	"embed"
	"regexp"
	"strings"

	"github.com/llmsim/llmsim/models/engines"
)

//go:embed published/*.txt
var publishedFiles embed.FS

// values is how many values an option takes.
type values int

const (
	one values = iota
	none
	several
)

// publishedBy returns the options that an engine publishes, or Dynamo for its workers, with how
// many values each takes; none for an engine whose commands are only read, whose table has all.
func publishedBy(name string) map[string]values {
	text, err := publishedFiles.ReadFile("published/" + name + ".txt")
	if err != nil {
		return nil
	}
	options := map[string]values{}
	for line := range strings.Lines(string(text)) {
		name, mark, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case !strings.HasPrefix(name, "-"):
		case mark == "*":
			options[name] = none
		case mark == "+":
			options[name] = several
		default:
			options[name] = one
		}
	}
	return options
}

// take returns the values of an option at the beginning of words, and the words behind them. The
// first value may be joined to the option by an equals sign.
func (v values) take(words []string, joined bool) (taken, rest []string) {
	n := 0
	switch {
	case v == one && !joined && len(words) > 0:
		n = 1
	case v == several:
		for n < len(words) && !strings.HasPrefix(words[n], "-") {
			n++
		}
	}
	return words[:n], words[n:]
}

var dotted = regexp.MustCompile(`(?:^|[^0-9.])v?([0-9]+\.[0-9]+(?:\.[0-9]+)?(?:\.post[0-9]+|rc[0-9]+)?)`)

// VersionOf returns the version that the tag of an engine's image says, such as 0.15.1 of
// vllm/vllm-openai:v0.15.1; zero where it says no version.
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
