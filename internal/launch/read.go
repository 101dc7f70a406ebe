package launch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/models"
)

// Reading is a command as a scenario.
type Reading struct {
	// Engine is the engine that the command starts.
	Engine string
	// Settings are overrides of a scenario, "key=value", in the order of the keys.
	Settings []string
	// Notes say which flags were left out, and why.
	Notes []string
}

// reading is a Reading while it is being made.
type reading struct {
	values map[string]string
	notes  []string
	file   files
	model  *models.Architecture // nil where it is not in the catalogue
}

// experts reports whether the model is known to be a mixture of experts.
func (r *reading) experts() bool { return r.model != nil && r.model.Experts() != nil }

// files returns the text of a file that a command names, and whether it is at hand.
type files func(name string) (string, bool)

// keepsParts reports whether the model is known to have layers with windows or states of fixed
// size.
func (r *reading) keepsParts() bool {
	if r.model == nil {
		return false
	}
	kept := r.model.Kept(1, hardware.BF16)
	return kept.Windowed+kept.Fixed > 0
}

// or returns what also looks for files elsewhere.
func (f files) or(elsewhere map[string]string) files {
	return func(name string) (string, bool) {
		if text, found := elsewhere[name]; found || f == nil {
			return text, found
		}
		return f(name)
	}
}

func (r *reading) set(key, value string) { r.values[key] = value }

func (r *reading) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// number returns a value that was read as a count.
func (r *reading) number(key string, otherwise int) int {
	if n, err := strconv.Atoi(r.values[key]); err == nil {
		return n
	}
	return otherwise
}

// ofAllRanks multiplies counts of one data-parallel rank.
func (r *reading) ofAllRanks(ranks int, keys ...string) {
	for _, key := range keys {
		if n := r.number(key, 0); n > 0 {
			r.set(key, strconv.Itoa(n*ranks))
		}
	}
}

// mostText bounds the text of a command or a manifest, in bytes: the longest that people write by
// hand is a thousandth of it.
const mostText = 1 << 20

// ReadFileOrText reads the file of that name, or if there is none, the text itself. A configuration
// that the command of a file names may lie beside it.
func ReadFileOrText(text string) (*Reading, error) {
	if strings.ContainsAny(text, " \n") {
		return Read(text)
	}
	data, err := readFile(os.Open(text))
	if errors.Is(err, fs.ErrNotExist) {
		return Read(text)
	}
	if err != nil {
		return nil, err
	}
	folder, err := os.OpenRoot(filepath.Dir(text))
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return readWith(data, func(name string) (string, bool) {
		beside, err := readFile(folder.Open(name))
		return beside, err == nil
	})
}

// readFile reads what was opened, up to the byte after the most.
func readFile(file *os.File, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, mostText+1))
	return string(data), err
}

// Read reads a command that starts an engine: a line for a shell, a shell script with one such
// line, or a Kubernetes manifest.
func Read(text string) (*Reading, error) { return readWith(text, nil) }

// readWith reads a command whose files are found beside it.
func readWith(text string, beside files) (*Reading, error) {
	if len(text) > mostText {
		return nil, fmt.Errorf("the text has %d bytes, more than %d", len(text), mostText)
	}
	text = strings.TrimPrefix(text, "\ufeff") // some editors begin files with it
	commands, written, err := shellCommands(text)
	if err == nil {
		if found := starting(commands); len(found) > 0 {
			return only(found, beside.or(written))
		}
	}
	if contained, mounted, manifest := manifestCommands(text); manifest {
		commands, written, err = contained, mounted, nil
	}
	if err != nil {
		return nil, fmt.Errorf(
			"this is neither a command for a shell nor a Kubernetes manifest: %w", err)
	}
	return only(starting(commands), beside.or(written))
}

// started is a command that starts a known engine.
type started struct {
	engine engine
	words  []string // after the words that name the program
}

// starting returns the commands that start a known engine.
func starting(commands [][]string) []started {
	var list []started
	for _, words := range commands {
		for len(words) > 0 && (strings.Contains(words[0], "=") || slices.Contains(
			[]string{"exec", "env", "nohup", "sudo"}, words[0])) {
			words = words[1:]
		}
		words = contained(words)
		for _, e := range engines() {
			if n := e.program(words); n > 0 {
				list = append(list, started{e, words[n:]})
			}
		}
	}
	return list
}

// contained returns the command that runs in the container which a command such as docker run
// starts, and any other command as it is.
func contained(words []string) []string {
	if len(words) < 2 || words[1] != "run" ||
		!slices.Contains([]string{"docker", "podman", "nerdctl"}, base(words[0])) {
		return words
	}
	for i, word := range words {
		for _, e := range engines() {
			image, _, _ := strings.Cut(e.image, ":")
			if name, _, _ := strings.Cut(word, ":"); name == image {
				return entered(word, words[i+1:])
			}
		}
	}
	return words
}

// entered returns the command of a container with certain arguments. The image of vLLM starts vllm
// serve with the images that do not name a program.
func entered(image string, words []string) []string {
	if strings.Contains(image, "vllm-openai") &&
		(len(words) == 0 || strings.HasPrefix(words[0], "-") || strings.Contains(words[0], "/") &&
			!strings.HasPrefix(words[0], "/")) {
		return append([]string{"vllm", "serve"}, words...)
	}
	return words
}

// only reads the only command.
func only(found []started, file files) (*Reading, error) {
	switch len(found) {
	case 0:
		return nil, errors.New(
			"found no command that starts an engine; known are vllm serve, python -m " +
				"sglang.launch_server and trtllm-serve")
	case 1:
		return found[0].read(file)
	}
	var names []string
	for _, s := range found {
		names = append(names, s.engine.name+" "+strings.Join(s.words[:min(2, len(s.words))], " "))
	}
	return nil, fmt.Errorf("found %d commands that start an engine: %s; give one of them",
		len(found), strings.Join(names, ", "))
}

// read turns the flags of a command into settings.
func (s started) read(file files) (*Reading, error) {
	r := &reading{values: map[string]string{}, file: file}
	known, published := map[string]*option{}, s.engine.published()
	options := s.engine.options()
	for i := range options {
		for _, f := range options[i].flags {
			known[f] = &options[i]
		}
	}
	for words := s.words; len(words) > 0; {
		word, value, joined := strings.Cut(words[0], "=")
		words = words[1:]
		if !strings.HasPrefix(word, "-") {
			if err := closed(word); err != nil {
				return nil, err
			}
			if _, set := r.values["model"]; set {
				return nil, fmt.Errorf("found %q beside the model %s; a flag would begin with --",
					word, r.values["model"])
			}
			r.set("model", word)
			continue
		}
		o, off := lookUp(known, word)
		if o == nil {
			if takes, is := published[word]; is {
				r.note("%s was left out: a scenario has nothing for it", word)
				words = takes.after(words, joined)
			} else {
				words = r.unknown(word, words, joined, slices.Sorted(maps.Keys(published)))
			}
			continue
		}
		if !o.isSwitch && !joined {
			if len(words) == 0 {
				return nil, fmt.Errorf("%s needs a value", word)
			}
			value, words = words[0], words[1:]
			if published[word] == several {
				words = several.after(words, joined)
			}
		}
		if err := closed(value); err != nil && o.key != "" {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
		if err := r.take(o, word, value, off); err != nil {
			return nil, err
		}
	}
	if r.values["model"] == "" {
		return nil, errors.New("the command names no model")
	}
	catalogue, err := models.Load()
	if err != nil {
		return nil, err
	}
	if model, err := catalogue.Lookup(r.values["model"]); err == nil {
		r.model = model
	}
	s.engine.settle(r)
	result := &Reading{Engine: s.engine.name, Notes: r.notes}
	for _, key := range slices.Sorted(maps.Keys(r.values)) {
		result.Settings = append(result.Settings, key+"="+r.values[key])
	}
	return result, nil
}

// lookUp returns the option of a flag, and whether the flag is its negation.
func lookUp(known map[string]*option, flag string) (*option, bool) {
	plain := flag
	if strings.HasPrefix(flag, "--") { // engines take hyphens and underscores alike
		plain = "--" + strings.ReplaceAll(flag[2:], "_", "-")
	}
	for _, form := range []string{
		flag, plain, "--" + strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "-", "_")} {
		if o := known[form]; o != nil {
			return o, false
		}
	}
	if rest, negated := strings.CutPrefix(plain, "--no-"); negated {
		if o := known["--"+rest]; o != nil && o.isSwitch {
			return o, true
		}
	}
	return nil, false
}

// take applies an option.
func (r *reading) take(o *option, flag, value string, off bool) error {
	if o.note != "" {
		r.note("%s: %s", flag, o.note)
	}
	if o.isSwitch {
		if value = o.on; off {
			value = o.off
		}
	} else if o.value != nil {
		var err error
		given := value
		value, err = o.value(value)
		if reason, left := errors.AsType[leftOut](err); left {
			r.note("%s %s was left out: %v", flag, given, reason)
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
	}
	if o.key != "" && value != "" {
		r.set(o.key, value)
	}
	return nil
}

// unknown notes a flag that is not among those known, and returns the words after its value, if it
// seems to have one.
func (r *reading) unknown(flag string, words []string, joined bool, known []string) []string {
	meant := ""
	if near := nearest.Names(flag, known); len(near) > 0 {
		meant = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	r.note("%s is not known, and was left out%s", flag, meant)
	if !joined && len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		return words[1:]
	}
	return words
}

// open marks a word that needs a shell to be evaluated: what stands behind it is its line.
const open = "\x00"

// closed returns an error for a word that needs a shell to be evaluated.
func closed(word string) error {
	if _, line, found := strings.Cut(word, open); found {
		return fmt.Errorf("line %s has a variable or a substitution; write its value", line)
	}
	return nil
}

// shellCommands returns the simple commands of a shell script, and the files that it writes from
// text of its own, by their names without folders.
func shellCommands(text string) ([][]string, map[string]string, error) {
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, nil, err
	}
	var list [][]string
	written := map[string]string{}
	syntax.Walk(file, func(node syntax.Node) bool {
		if statement, ok := node.(*syntax.Stmt); ok {
			keepHereDocument(statement, written)
		}
		call, ok := node.(*syntax.CallExpr)
		if !ok {
			return true
		}
		words := make([]string, 0, len(call.Args))
		for _, arg := range call.Args {
			word, plain := literal(arg)
			if !plain {
				word += open + strconv.FormatUint(uint64(arg.Pos().Line()), 10)
			}
			words = append(words, word)
		}
		list = append(list, words)
		return true
	})
	return list, written, nil
}

// keepHereDocument keeps what a statement such as cat <<EOF >FILE writes.
func keepHereDocument(statement *syntax.Stmt, written map[string]string) {
	var name, text string
	for _, r := range statement.Redirs {
		switch {
		case r.Hdoc != nil:
			text, _ = literal(r.Hdoc)
		case r.Op == syntax.RdrOut && r.Word != nil:
			name, _ = literal(r.Word)
		}
	}
	if name != "" && text != "" {
		written[path.Base(name)] = text
	}
}

// literal returns the text of a word, and whether it is the same in every shell.
func literal(word *syntax.Word) (string, bool) {
	var b strings.Builder
	plain := true
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
			plain = plain && !p.Dollar
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					plain = false
					continue
				}
				b.WriteString(unescape(lit.Value))
			}
		default:
			plain = false
		}
	}
	return b.String(), plain
}

// unescape removes the backslashes of a word.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if i++; text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// base returns the name of a program without its folder.
func base(program string) string { return path.Base(program) }

// isPython reports whether a program is Python.
func isPython(program string) bool { return strings.HasPrefix(base(program), "python") }
