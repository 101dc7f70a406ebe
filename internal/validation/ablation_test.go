package validation

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models/steptime"
)

// term is a part of a step's time that predictions can do without.
type term struct {
	name      string
	engine    func(*steptime.Engine)
	constants func(*hardware.Constants)
}

// terms are those of docs/physics.md that constants can switch off.
var terms = []term{
	{"everything", nil, nil},
	{"factors of an engine in its servers", func(e *steptime.Engine) {
		e.Served = steptime.Served{}
	}, nil},
	{"kernels of engines measured apart", func(e *steptime.Engine) { e.Kernels = "" }, nil},
	{"fixed times of kernels", func(e *steptime.Engine) { e.Kernels = "" },
		func(c *hardware.Constants) {
			c.Linear.Kernel, c.Elementwise.Kernel, c.Head.Kernel, c.Experts.Kernel = 0, 0, 0, 0
			c.Attention.DecodeKernel, c.Attention.PrefillKernel = 0, 0
		}},
	{"rows rounded up to tiles", nil, func(c *hardware.Constants) {
		c.Linear.Tile, c.Experts.Tile = 0, 0
	}},
	{"compute and memory that overlap in part", nil, func(c *hardware.Constants) {
		c.Linear.Overlap = math.Inf(1)
	}},
	{"decode attention below the bandwidth", nil, func(c *hardware.Constants) {
		c.Attention.DecodeMemory, c.Attention.DecodeNarrow = 1, 1
	}},
	{"prompts' attention below the peak, and its tail", nil, func(c *hardware.Constants) {
		c.Attention.PrefillCompute, c.Attention.PrefillMemory = 1, 1
		c.Attention.PrefillTail = 0
	}},
	{"passes over the logits", nil, func(c *hardware.Constants) { c.Head.Passes = 0 }},
	{"engines' own all-reduces", func(e *steptime.Engine) { e.CustomAllReduce = false }, nil},
	{"what the host does in a step", func(e *steptime.Engine) {
		e.Step, e.Sequence, e.HostStep, e.HostSequence, e.Layer = 0, 0, 0, 0, 0
	}, nil},
	{"launching prompts by the layer", func(e *steptime.Engine) { e.LaunchPrompt = 0 }, nil},
	{"what a request costs besides steps", func(e *steptime.Engine) { e.Request = 0 }, nil},
}

// physics returns the physics that come with the program, without the term.
func (t *term) physics() accuracy.Physics {
	p := accuracy.Physics{}
	if t.engine != nil {
		p.Engine = func(name string) (steptime.Engine, error) {
			e, err := steptime.FindEngine(name)
			t.engine(&e)
			return e, err
		}
	}
	if t.constants != nil {
		p.Constants = func(a *hardware.Accelerator,
			scaleUp, network *hardware.Link) *hardware.Constants {
			c, _ := hardware.FittedConstants(a, scaleUp, network)
			t.constants(&c)
			return &c
		}
	}
	return p
}

// ablated is how many rows of a table there are to each that ablations are made with.
const ablated = 8

// columns are the groups of rows whose errors are shown, with the quantity.
var columns = []struct {
	title, engine, quantity string
}{
	{"vLLM, TPOT", "vllm", "TPOT mean"}, {"TTFT", "vllm", "TTFT mean"},
	{"SGLang, TPOT", "sglang", "TPOT mean"}, {"TTFT", "sglang", "TTFT mean"},
	{"TensorRT-LLM, TPOT", "trtllm", "TPOT mean"},
}

// ablation.md is what comes out where one term after another is left out.
func TestAblationPageIsCurrent(t *testing.T) {
	measuredReport(t) // skips where there are no tables
	data, err := Read(sharedTables(t)...)
	testkit.OK(t, err)
	seen := 0
	some := data.Where(func(table string, _ accuracy.Group) bool {
		if table == "silicon" {
			seen++
		}
		return table == "silicon" && seen%ablated == 0
	})
	var b strings.Builder
	b.WriteString(ablationHead)
	for _, c := range columns {
		fmt.Fprintf(&b, " %s |", c.title)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for i := range terms {
		r, err := some.Compare(t.Context(), terms[i].physics())
		testkit.OK(t, err)
		fmt.Fprintf(&b, "| %s |", terms[i].name)
		for _, column := range columns {
			rows := r.Rows(func(c *accuracy.Comparison) bool {
				return strings.HasPrefix(c.Engine, column.engine) && c.Quantity == column.quantity
			})
			fmt.Fprintf(&b, " %.0f, %+.0f |", accuracy.SumUp(rows).Median,
				accuracy.MedianBias(rows))
		}
		b.WriteByte('\n')
	}
	upToDate(t, "ablation.md", b.String())
}

const ablationHead = `# What each term is worth

Median absolute error and median error, in percent, of servers of 2025 and 2026 at a fixed number of
clients (` + "`silicon`" + `, each eighth row) with all terms of [a step's time](../../docs/physics.md), and without
one of them. The other constants are not
fitted again: a row shows what predictions rest on, not how well another form could do.

` + "`go test ./internal/validation -run Ablation -update`" + ` writes this page, from the tables of
[validation.md](../../docs/validation.md).

| without |`
