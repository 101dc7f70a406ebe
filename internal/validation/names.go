package validation

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/expr-lang/expr"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
)

// unknownName is a name in a table that the catalogues do not have: the row is skipped and counted.
type unknownName struct{ kind, name string }

func (u *unknownName) Error() string { return fmt.Sprintf("%s %q is not known", u.kind, u.name) }

// catalogs find models and hardware by the names that tables use.
type catalogs struct {
	models   *models.Catalog
	hardware hardware.Catalog
}

func loadCatalogs() (*catalogs, error) {
	m, err := models.Load()
	if err != nil {
		return nil, err
	}
	h, err := hardware.Load()
	if err != nil {
		return nil, err
	}
	return &catalogs{m, h}, nil
}

// model finds a model, whatever its name says of how its weights are stored: tables have a column
// for that. Names with blanks describe a checkpoint, and may mean several.
func (c *catalogs) model(name string) (*models.Architecture, error) {
	m, err := c.models.Lookup(name)
	if form, ok := models.ReadRelease(name); ok && err != nil && !strings.Contains(name, " ") {
		m, err = c.models.Lookup(form.Of)
	}
	if err != nil {
		return nil, &unknownName{"model", name}
	}
	return m, nil
}

// accelerator finds a GPU by the names of the catalogue, and by the names that drivers and clouds
// make of them: NVIDIA H100 80GB HBM3, H100-SXM5-80GB.
func (c *catalogs) accelerator(name string) (hardware.Accelerator, error) {
	if a, err := c.hardware.Accelerator(name); err == nil {
		return a, nil
	}
	words, size := gpuWords(name)
	for n := len(words); n > 0; n-- {
		// Where there are several sizes, the catalogue's aliases have it after the name: a100-40gb.
		sized := slices.Insert(slices.Clone(words[:n]), 1, fmt.Sprintf("%dgb", size))
		for _, list := range [][]string{sized, words[:n]} {
			a, err := c.hardware.Accelerator(strings.Join(list, "-"))
			if err == nil && holds(&a, size) {
				return a, nil
			}
		}
	}
	return hardware.Accelerator{}, &unknownName{"GPU", name}
}

// holds reports whether an accelerator is sold with the given size of memory; what it reports may
// be 15 % less; 0 is any size.
func holds(a *hardware.Accelerator, gigabytes int) bool {
	return gigabytes == 0 || a.Memory < 1.01*float64(gigabytes)*(1<<30) &&
		a.Memory > 0.85*float64(gigabytes)*1e9
}

// gpuWords splits a GPU's name into words, without vendor, family, kind of memory and number of the
// socket, and the size of its memory in GB or GiB; 0 where the name has no size.
func gpuWords(name string) (words []string, size int) {
	for _, word := range strings.FieldsFunc(strings.ToLower(name),
		func(r rune) bool { return strings.ContainsRune(" -_", r) }) {
		if n, err := strconv.Atoi(strings.TrimSuffix(word, "gb")); err == nil &&
			strings.HasSuffix(word, "gb") {
			size = n
			continue
		}
		switch {
		case slices.Contains([]string{"nvidia", "amd", "instinct", "tesla", "geforce"}, word) ||
			strings.HasPrefix(word, "hbm") || strings.HasPrefix(word, "gddr"):
		case strings.HasPrefix(word, "sxm"):
			words = append(words, "sxm")
		default:
			words = append(words, word)
		}
	}
	return words, size
}

// links returns the links of a table's machines with an accelerator: the usual ones, but for hosts
// that are known to be in the way; nil where it has no such entry.
func (c *catalogs) links(table string, a *hardware.Accelerator) (scaleUp, network *hardware.Link,
	err error) {
	find := func(name string) *hardware.Link {
		if name == "" || err != nil {
			return nil
		}
		var l hardware.Link
		l, err = c.hardware.Link(name)
		return &l
	}
	return find(accuracy.ScaleUp(table, a)), find(a.Network), err
}

// dtypes are the spellings of number formats in tables. Those scaled by block compute like the
// format itself.
var dtypes = map[string]hardware.DType{
	"fp16": hardware.FP16, "float16": hardware.FP16, "half": hardware.FP16,
	"bf16": hardware.BF16, "bfloat16": hardware.BF16,
	"f16": hardware.FP16, "q4_0": hardware.Q4_0, "q4_k_m": hardware.Q4KM,
	"fp32": hardware.FP32, "float32": hardware.FP32, "float": hardware.FP32,
	"fp8": hardware.FP8, "fp8_block": hardware.FP8Block, "fp8-block": hardware.FP8Block,
	"fp8_e4m3": hardware.FP8,
	"float8":   hardware.FP8,
	"int8":     hardware.INT8, "w8a8": hardware.INT8,
	"q8_0": hardware.INT8, // with half a bit more for scales
	"int4": hardware.INT4, "int4_wo": hardware.INT4, "awq": hardware.INT4, "gptq": hardware.INT4,
	"w4a16": hardware.INT4, "w4": hardware.INT4,
	"fp4": hardware.FP4, "nvfp4": hardware.FP4, "fp4_e2m1": hardware.FP4,
	"mxfp4": hardware.MXFP4,
}

// parseDType reads a number format, which more words may follow.
func parseDType(name string) (hardware.DType, error) {
	name, _, _ = strings.Cut(name, " ")
	d, ok := dtypes[strings.ToLower(strings.TrimPrefix(name, "torch."))]
	if !ok {
		return "", &unknownName{"number format", name}
	}
	return d, nil
}

// presets are the names of engines in tables.
var presets = map[string]string{
	"vllm": "vllm-v1", "vllm-v1": "vllm-v1", "vllm_v1": "vllm-v1",
	"trtllm": "trtllm", "trt-llm": "trtllm", "tensorrt-llm": "trtllm", "tensorrt_llm": "trtllm",
	"nim": "trtllm", "trtllm-tensorrt": "trtllm-tensorrt", "trt": "trtllm", "vllm-gaudi": "vllm-v1",
	"llama.cpp": "llama.cpp", "sglang": "sglang", "lmdeploy": "lmdeploy", "turbomind": "lmdeploy",
	"eager-2023": "eager-2023", "slora": "eager-2023",
}

func parseEngine(name string) (string, error) {
	e, ok := presets[strings.ToLower(name)]
	if !ok {
		return "", &unknownName{"engine", name}
	}
	return e, nil
}

// engine returns the preset that a column, or the first of several that is not empty, names.
func (r *row) engine(column string) string {
	e, err := parseEngine(r.value(column))
	if err != nil {
		r.fail(err)
	}
	return e
}

// find sets the preset of the engine and version that the row names, as a scenario has it. A
// version that the registry does not know leaves the preset as it is.
func (d *deployment) find() {
	release, err := engines.Find(d.Engine.Preset, "")
	if err == nil && d.version != "" {
		release, err = engines.Find(release.Name, d.version)
	}
	if err == nil {
		d.Engine.Preset = release.Preset
	}
}

// nightly sets the release of a server of the nightly benchmark in the month or on the date of its
// row, where the row has no release, or the release of Dynamo, which serves TensorRT-LLM of about
// its time.
func (r *row) nightly(d *deployment) {
	if r.value("month|date|=") != "" && (d.version == "" ||
		d.Engine.Preset == "trtllm" && strings.HasPrefix(d.version, "0.")) {
		d.version = ""
		r.set("nightly", d)
	}
}

// rule says what holds of some rows of a table: a row of rules.csv.
type rule struct {
	// Table is the table, or a name by which its reader asks for rules.
	Table string `csv:"table"`
	// When has conditions on columns, separated by spaces, which must all hold: "=" equals, "~"
	// contains, "^" begins with one of the alternatives between "|", ">" is a larger number, and
	// "<" an earlier version or date; with "!" before it, the reverse. Upper and lower case are the
	// same. Of columns with "|" between them, the first that is not empty counts. Beside its
	// columns a row has flags, with "--" before their names, and what is known of its server.
	When string `csv:"when"`
	// Key is "refuse" for rows that are left out, with Value as the reason; "weights" for their
	// format, Value; "engine" and "version" for those of a submission to MLPerf; or "drop" with a
	// family of quantities that say nothing, for the reason Value: of these, the first rule that
	// fits a row holds. Others are set in turn: a key of the
	// scenario, such as memory.utilization; "sequences" and "tokens" for the limits of a step over
	// all ranks, whose keys depend on the policy, and with "rank-" before them, for the limits of
	// one rank; "version" for the release of the engine; "cache" for the format of its cache; and
	// any other word for a column of the row.
	Key string `csv:"key"`
	// Value is for keys that are set a column, or several that are separated by "|" and tried in
	// turn, and one that begins with "=" is a value, or an expression in brackets over what is
	// known of the server; an empty one sets nothing.
	Value string `csv:"value"`
}

var allRules = shipped[rule]("rules.csv")

// rules are the rules by table.
var rules = sync.OnceValue(func() map[string][]rule {
	of := map[string][]rule{}
	for _, u := range allRules() {
		of[u.Table] = append(of[u.Table], u)
	}
	return of
})

// ruled returns what the rules say of a row, "" where no rule fits. A column's name in braces is
// its value.
func (r *row) ruled(key string) string {
	for _, u := range rules()[r.table.kind.Name] {
		if u.Key == key && r.holds(u.When) {
			return r.fill(u.Value)
		}
	}
	return ""
}

// fill puts the values of columns in place of their names in braces.
func (r *row) fill(text string) string {
	return columnName.ReplaceAllStringFunc(text, func(name string) string {
		return r.text(strings.Trim(name, "{}"))
	})
}

// know makes what is known of a row's server columns of the row.
func (r *row) know(d *deployment) {
	for name, value := range map[string]any{"architecture": d.model.Name, "format": d.weights,
		"accelerator": d.accelerator.Name, "generation": d.accelerator.Generation,
		"preset": d.Engine.Preset, "ranks": max(1, d.Parallelism.Data),
		"tensor": d.Parallelism.Tensor, "expert": d.Parallelism.Expert} {
		r.learn(name, fmt.Sprint(value))
	}
}

// learn makes a value a column of the row, in place of the table's.
func (r *row) learn(name, value string) {
	if r.known == nil {
		r.known = map[string]string{}
	}
	r.known[name] = value
}

// set sets what the rules of a table say of a row's server.
func (r *row) set(table string, d *deployment) {
	if len(rules()[table]) == 0 || r.err != nil {
		return
	}
	r.know(d)
	link := d.Hardware.Link
	document, err := strict.Parse("", fmt.Appendf(nil, "{model: %q, hardware: %q}", d.model.Name,
		d.accelerator.Name))
	for _, u := range rules()[table] {
		if !r.holds(u.When) {
			continue
		}
		value := r.valueOf(u.Value)
		number := func() int { return r.wholeOf(u.Value, value, 1) }
		limit := strings.TrimPrefix(u.Key, "rank-")
		factor := 1
		if limit != u.Key {
			factor = max(1, d.Parallelism.Data)
		}
		parameter, batching := strings.CutPrefix(u.Key, "batching.")
		switch {
		case value == "":
		case limit == "sequences":
			d.maxSequences = factor * number()
		case limit == "tokens":
			d.tokenBudget = factor * number()
		case u.Key == "version":
			d.version = value
		case u.Key == "cache":
			d.kv, err = parseDType(value)
		case batching:
			d.param(parameter, value)
		case !strings.Contains(u.Key, "."):
			r.learn(u.Key, value)
		case err == nil:
			err = document.Set(u.Key+"="+value, &d.Scenario)
		}
	}
	if err == nil {
		err = document.Decode(&d.Scenario)
	}
	d.Hardware.Link = link
	var problems strict.Problems
	if errors.As(err, &problems) {
		err = fmt.Errorf("%s: %s", problems[0].Path, problems[0].Message)
	}
	r.fail(err)
}

// valueOf returns the value of a rule, "" where its columns are empty.
func (r *row) valueOf(columns string) string {
	expression, is := strings.CutPrefix(columns, "=(")
	if !is {
		return r.value(columns + "|=")
	}
	numbers := map[string]float64{}
	for name, value := range r.known {
		numbers[name], _ = strconv.ParseFloat(value, 64)
	}
	value, err := expr.Eval(strings.TrimSuffix(expression, ")"), numbers)
	r.fail(err)
	return fmt.Sprint(value)
}

var (
	columnName = regexp.MustCompile(`\{\w+\}`)
	condition  = regexp.MustCompile(`^([\w|.-]+?)(!?)([=~^><])(.*)$`)
	numerals   = regexp.MustCompile(`\d+`)
)

// earlier compares versions or dates, number by number. What has no number is not earlier.
func earlier(x, y string) bool {
	numbers := func(text string) (list []int) {
		for _, digits := range numerals.FindAllString(text, -1) {
			n, _ := strconv.Atoi(digits)
			list = append(list, n)
		}
		return list
	}
	return x != "" && slices.Compare(numbers(x), numbers(y)) < 0
}

// holds reports whether all conditions hold of a row.
func (r *row) holds(when string) bool {
	return !slices.ContainsFunc(strings.Fields(when), func(one string) bool {
		m := condition.FindStringSubmatch(one)
		found := strings.ToLower(r.value(m[1] + "|="))
		holds := slices.ContainsFunc(strings.Split(m[4], "|"), func(want string) bool {
			switch m[3] {
			case "=":
				return found == want
			case "~":
				return strings.Contains(found, want)
			case "^":
				return strings.HasPrefix(found, want)
			case "<":
				return earlier(found, want)
			}
			x, _ := strconv.ParseFloat(found, 64)
			least, _ := strconv.ParseFloat(want, 64)
			return x > least
		})
		return holds == (m[2] == "!")
	})
}
