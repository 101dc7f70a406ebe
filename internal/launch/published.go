package launch

import (
	"embed"
	"strings"
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

// published returns the options that the engine publishes, with how many values each takes.
func (e *engine) published() map[string]values { return publishedBy(e.name) }

// publishedBy returns the options that an engine publishes, or Dynamo for its workers.
func publishedBy(name string) map[string]values {
	text, err := publishedFiles.ReadFile("published/" + name + ".txt")
	if err != nil {
		panic(err) // the file is part of the program
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

// after returns the words behind the values of an option. The first value may be joined to the
// option by an equals sign.
func (v values) after(words []string, joined bool) []string {
	if v == one && !joined && len(words) > 0 {
		return words[1:]
	}
	for v == several && len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		words = words[1:]
	}
	return words
}
