package launch

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/launch/commands"
	"github.com/llmsim/llmsim/internal/launch/engines"
	"github.com/llmsim/llmsim/internal/launch/options"
	"github.com/llmsim/llmsim/models"
)

// started is a command that starts a known engine.
type started struct {
	engine *engines.Engine
	words  []string // after the words that name the program
	commands.Command
}

// starting returns the commands that start a known engine.
func starting(list []commands.Command) (found []started) {
	for _, c := range list {
		words, image := contained(withoutPrefix(c.Words))
		if image != "" {
			c.Image, c.Env = image, withContainers(c.Env, c.Words)
		} else if len(c.Around) > 0 {
			_, image = contained(withoutPrefix(slices.Concat(c.Around, c.Words)))
			c.Image = cmp.Or(image, c.Image)
		}
		words = commands.Placeholders(launched(words))
		for _, e := range engines.Readable() {
			if n := e.Starts(words); n > 0 {
				found = append(found, started{e, words[n:], c})
			}
		}
	}
	return found
}

// starts reports whether a command starts a known engine.
func starts(words []string) bool {
	return len(starting([]commands.Command{{Words: words}})) > 0
}

// isEngine reports whether words begin with the program of a known engine.
func isEngine(words []string) bool {
	return slices.ContainsFunc(engines.Readable(), func(e *engines.Engine) bool {
		return e.Starts(words) > 0
	})
}

// withoutPrefix returns a command without what is before it: variables that are set, and exec and
// the like.
func withoutPrefix(words []string) []string {
	for len(words) > 0 && (strings.Contains(words[0], "=") ||
		slices.Contains([]string{"exec", "env", "nohup", "sudo"}, words[0])) {
		words = words[1:]
	}
	return words
}

// withContainers returns env with the variables that docker run or the like sets.
func withContainers(env map[string]string, words []string) map[string]string {
	env = maps.Clone(env)
	if env == nil {
		env = map[string]string{}
	}
	for _, set := range valuesOf(words, "-e", "--env") {
		if name, value, given := strings.Cut(set, "="); given {
			env[name] = value
		}
	}
	return env
}

// launched returns the engine's command within the command of a program that starts others, such as
// mpirun or numactl, and any other command as it is. Programs that print, find or end commands do
// not start them.
func launched(words []string) []string {
	if len(words) == 0 || isEngine(words) || commands.Mentions(words[0]) {
		return words
	}
	for i := range words[:min(len(words), mostBefore)] {
		if isEngine(words[i:]) {
			return words[i:]
		}
	}
	return words
}

// mostBefore bounds the words before the program of an engine: those of a launcher and its options.
const mostBefore = 200

// contained returns the command that runs in the container which a command such as docker run
// starts, and its image; and any other command as it is.
func contained(words []string) (inner []string, image string) {
	if len(words) > 0 && commands.Base(words[0]) == "srun" {
		if named := valuesOf(words, "--container-image"); len(named) > 0 {
			return words, strings.Replace(named[0], "#", "/", 1) // behind the registry, of pyxis
		}
	}
	run := 0
	for run < min(len(words), mostBefore) && !runsImage(words[run:]) {
		run++
	}
	if run == min(len(words), mostBefore) || commands.Mentions(words[0]) {
		return words, ""
	}
	words = words[run:]
	for i, word := range words {
		_, own, named := strings.Cut(word, "image=")
		if !named {
			own = strings.TrimPrefix(word, "docker://")
		}
		if engines.IsImage(own) {
			rest := words[i+1:]
			if at := slices.Index(rest, "--"); named && at >= 0 {
				rest = rest[at+1:]
			}
			return commands.Entered(own, rest), own
		}
	}
	// An image of others is named like the program, or the program stands behind it.
	for i := 2; i < len(words); i++ {
		if own := commands.Entered(words[i], words[i+1:]); len(own) > len(words)-i-1 &&
			!strings.HasPrefix(words[i], "-") {
			return own, words[i]
		}
		if rest := launchedBy(withoutPrefix(words[i:])); isEngine(rest) {
			if named := valuesOf(words, "--image"); len(named) > 0 { // of kubectl run
				return rest, named[0]
			}
			return rest, words[i-1]
		}
	}
	return words, ""
}

// runsImage reports whether a command starts a container from an image, such as docker run.
func runsImage(words []string) bool {
	if len(words) < 2 {
		return false
	}
	switch within := words[1:min(len(words), 4)]; commands.Base(words[0]) {
	case "docker", "podman", "nerdctl", "kubectl", "oc", "enroot":
		return slices.Contains(within, "run") || words[1] == "service"
	case "apptainer", "singularity":
		return slices.Contains(within, "run") || slices.Contains(within, "exec")
	}
	return false
}

// launchedBy returns what a launcher of processes starts, and any other command as it is.
func launchedBy(words []string) []string {
	if len(words) > 0 && slices.Contains([]string{"mpirun", "mpiexec", "srun", "numactl", "uv",
		"uvx", "time", "trtllm-llmapi-launch"}, commands.Base(words[0])) {
		return launched(words)
	}
	return words
}

// read turns the flags of a command into settings.
func (s *started) read(file files) (*reading, error) {
	terms, err := s.engine.Table.Read(&options.Command{Words: s.words, Env: s.Env,
		Version: s.version(), File: file})
	if err != nil {
		return nil, err
	}
	r := &reading{Reading: terms}
	if r.Terms["model"] == "" {
		return nil, errors.New("the command names no model")
	}
	r.Set("model", strings.TrimPrefix(r.Terms["model"], "hf://")) // as NIM takes addresses
	catalogue, err := models.Load()
	if err != nil {
		return nil, err
	}
	if file, ok := r.Take("model-file"); ok { // of a repository of several
		repository, _, _ := strings.Cut(r.Terms["model"], ":")
		r.Set("model", repository+"/"+file)
	}
	s.nameServed(r, catalogue)
	find(r, catalogue)
	if r.Terms["engine.weights"] != "" || strings.HasSuffix(r.Terms["model"], ".json") ||
		r.Model != nil && r.Model.DType != hardware.BF16 && r.Model.DType != hardware.FP16 {
		r.Unknown = "" // its name or its config says it
	}
	if err := s.engine.Interpret(r); err != nil {
		return nil, err
	}
	s.precise(r)
	if r.Terms["engine.weights"] == "" && r.Model != nil && r.Model.DType == hardware.FP32 &&
		slices.Contains([]string{"vllm", "sglang", "tgi"}, s.engine.Name) {
		// "auto will use FP16 precision for FP32 and FP16 models" (vllm serve --help; SGLang's too)
		r.Set("engine.weights", "fp16")
		r.Note("the weights are stored in fp32; the engine loads them in 16 bits unless --dtype " +
			"says otherwise")
	}
	if accelerator := acceleratorNamed(s.Product); accelerator != "" {
		r.Set("hardware", accelerator)
	} else if s.Product != "" {
		r.Note("the accelerator %s is not known: set hardware", s.Product)
	}
	v := s.version()
	if v.IsZero() && s.Image != "" && commands.Closed(s.Image) == nil {
		r.Note("the image %s does not say which release of %s it has: the newest that is known is "+
			"read; set engine.version", s.Image, s.engine.Name)
	}
	if !v.IsZero() {
		r.Set("engine.version", v.String())
		if r.Terms["engine.preset"] == "" {
			r.Set("engine.preset", s.engine.Name)
		}
	}
	return r, nil
}

// precise sets the number format of the weights that a recipe names, unless the command says it, or
// the model is published in it: fp8 may be that of blocks.
func (s *started) precise(r *reading) {
	format := strings.ToLower(s.Precision)
	if r.Terms["engine.weights"] != "" || format == "" ||
		r.Model != nil && strings.HasPrefix(string(r.Model.DType), format) {
		return
	}
	if !slices.Contains([]string{"bf16", "fp8", "int8", "int4", "fp4", "mxfp4"}, format) {
		r.Note("the recipe's precision %s was left out: set engine.weights", s.Precision)
		return
	}
	r.Set("engine.weights", format)
	r.Unknown = ""
}

// nameServed takes the name under which a model is served, where that is known, and what the
// command loads is a folder that says nothing, such as /model.
func (s *started) nameServed(r *reading, catalogue *models.Catalog) {
	folder := r.Terms["model"]
	if !strings.HasPrefix(folder, "/") && !strings.HasPrefix(folder, ".") {
		return
	}
	known := func(name string) bool {
		_, err := catalogue.Lookup(name)
		_, release := models.ReadRelease(name)
		return err == nil || release
	}
	for _, name := range valuesOf(s.words, "--served-model-name") {
		if commands.Closed(name) == nil && !known(folder) && known(name) {
			r.Set("model", name)
			r.Note("the model in %s is taken to be the one that is served, %s", folder, name)
			return
		}
	}
}

// find looks the model up in the catalogue. A checkpoint with quantised weights, which the
// catalogue does not have, is read as the model in that format.
func find(r *reading, catalogue *models.Catalog) {
	name := r.Terms["model"]
	if model, err := catalogue.Lookup(name); err == nil {
		r.Model = model
		return
	}
	form, ok := models.ReadRelease(name)
	model, err := catalogue.Lookup(form.Of)
	if !ok || err != nil { // maybe the name of a tune, as a scenario reads it
		if model, _, err := catalogue.Named(name); err == nil {
			r.Model = model
		}
		return
	}
	r.Model = model
	form.Of = models.PublishedAs(model, form.Of)
	r.Set("model", form.Of)
	r.Set("engine.weights", string(form.Weights))
	if form.Cache != "" && r.Terms["engine.kv-cache"] == "" {
		r.Set("engine.kv-cache", string(form.Cache))
	}
	says := form.Source
	if strings.HasPrefix(says, "configs: ") {
		says = "its config.json"
	}
	r.Note("%s is read as %s with weights in %s, as %s says", name, form.Of, form.Weights, says)
}
