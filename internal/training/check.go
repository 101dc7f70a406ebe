package training

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
)

// endLayers is the number of chunks without a layer: the embedding and the head with the loss
// may be one each (Llama 3, arXiv:2407.21783, section 3.3.2).
const endLayers = 2

// most bounds the counts of a job.
const most = 1 << 24

// Check returns the first thing that is wrong with a job: counts that do not divide, or what the
// accelerator cannot do. Whether it fits into memory, Fit says.
func (j *Job) Check() error {
	if err := j.checkNumbers(); err != nil {
		return err
	}
	if err := j.checkLayout(); err != nil {
		return err
	}
	return j.checkBatch()
}

// checkNumbers checks what does not depend on other numbers.
func (j *Job) checkNumbers() error {
	l := &j.Layout
	for _, c := range []struct {
		name string
		n    int
	}{{"gpus", j.GPUs}, {"global-batch", j.Batch}, {"seq", j.Seq}, {"tensor", l.Tensor},
		{"context", l.Context}, {"pipeline", l.Pipeline}, {"data", l.Data}, {"expert", l.Expert},
		{"micro-batch", l.Micro}, {"virtual", l.Virtual}} {
		if c.n < 1 || c.n > most {
			return fmt.Errorf("%s: found %d, want 1 to %d", c.name, c.n, most)
		}
	}
	if l.Shard < 0 || l.Shard > most {
		return fmt.Errorf("shard: found %d, want 0 (all data ranks) to %d", l.Shard, most)
	}
	if math.IsNaN(j.Tokens) || j.Tokens < 0 || j.Tokens > 1e18 {
		return fmt.Errorf("tokens: found %g, want 0 to 1e18", j.Tokens)
	}
	if l.ZeRO < 0 || l.ZeRO > 3 {
		return fmt.Errorf("zero: found %d, want 0, 1, 2 or 3", l.ZeRO)
	}
	if d := j.Precision; j.Machine.Accelerator.Peak[d] == 0 || !slices.Contains(Precisions(), d) {
		known := strings.Join(formatsOf(&j.Machine.Accelerator), ", ")
		if known == "" {
			known = "none of those that training computes in"
		}
		return fmt.Errorf("precision: %s has no rate in %s; it has %s",
			j.Machine.Accelerator.Name, d, known)
	}
	return nil
}

// Precisions lists the number formats in which products may be computed.
func Precisions() []hardware.DType {
	return []hardware.DType{hardware.BF16, hardware.FP16, hardware.FP8, hardware.FP4}
}

// formatsOf lists the number formats in which the accelerator computes products.
func formatsOf(a *hardware.Accelerator) []string {
	var names []string
	for _, d := range Precisions() {
		if a.Peak[d] > 0 {
			names = append(names, string(d))
		}
	}
	return names
}

// checkLayout checks that the dimensions divide what they divide.
func (j *Job) checkLayout() error {
	l := &j.Layout
	if used := l.Tensor * l.Pipeline * l.Context * l.Data; used != j.GPUs {
		return fmt.Errorf("tensor %d x pipeline %d x context %d x data %d take %d accelerators, "+
			"and gpus is %d", l.Tensor, l.Pipeline, l.Context, l.Data, used, j.GPUs)
	}
	if err := j.Model.FitsTensor(l.Tensor); err != nil {
		return fmt.Errorf("tensor: %w", err)
	}
	if s := j.Model.Attends(); s != nil && s.Heads%l.Tensor != 0 {
		return fmt.Errorf("tensor: %d does not divide the %d heads of %s", l.Tensor, s.Heads,
			j.Model.Name)
	}
	if n := j.Model.Layers(); l.Pipeline > n || l.Pipeline*l.Virtual > n+endLayers {
		return fmt.Errorf("pipeline: %d stages of %d chunks need as many layers (the embedding "+
			"and the loss may be one each), and %s has %d", l.Pipeline, l.Virtual, j.Model.Name, n)
	}
	if l.Virtual > 1 && l.Pipeline == 1 {
		return fmt.Errorf("virtual: %d chunks need a pipeline of several stages", l.Virtual)
	}
	if l.Schedule == ZeroBubble && l.Virtual > 1 {
		return fmt.Errorf("virtual: the zero-bubble schedule is computed for one chunk a stage, "+
			"found %d", l.Virtual)
	}
	if j.Seq%l.Context != 0 {
		return fmt.Errorf("context: %d does not divide the %d tokens of a sequence", l.Context,
			j.Seq)
	}
	if l.Shard > 0 && (l.Data*l.Context)%l.Shard != 0 {
		return fmt.Errorf("shard: %d does not divide the %d data ranks", l.Shard, l.Data*l.Context)
	}
	return j.checkExperts()
}

// checkExperts checks the spread of experts.
func (j *Job) checkExperts() error {
	l, m := &j.Layout, j.Model.Experts()
	switch ranks := l.Tensor * l.Context * l.Data; {
	case l.Expert == 1:
		return nil
	case m == nil:
		return fmt.Errorf("expert: found %d, and %s has no experts", l.Expert, j.Model.Name)
	case m.Experts%l.Expert != 0:
		return fmt.Errorf("expert: %d does not divide the %d experts of %s", l.Expert, m.Experts,
			j.Model.Name)
	case ranks%l.Expert != 0:
		return fmt.Errorf("expert: %d does not divide the %d accelerators of a stage "+
			"(tensor x context x data)", l.Expert, ranks)
	}
	return nil
}

// checkBatch checks that the batch is whole micro-batches, and enough of them for the pipeline.
func (j *Job) checkBatch() error {
	l := &j.Layout
	if one := l.Data * l.Micro; j.Batch%one != 0 || j.Batch < one {
		return fmt.Errorf("global-batch: %d sequences are no multiple of data %d x micro-batch "+
			"%d; the nearest is %d", j.Batch, l.Data, l.Micro, max(one, (j.Batch+one/2)/one*one))
	}
	m := l.MicroBatches(j.Batch)
	if m < l.Pipeline {
		return fmt.Errorf("global-batch: %d sequences are %d micro-batches a step, fewer than "+
			"the %d stages of the pipeline, some of which would idle throughout; give at least %d",
			j.Batch, m, l.Pipeline, l.Pipeline*l.Data*l.Micro)
	}
	if l.Virtual > 1 && m%l.Pipeline != 0 {
		return fmt.Errorf("global-batch: %d micro-batches a step are no multiple of the %d "+
			"stages, as the interleaved schedule needs (arXiv:2104.04473, section 2.2.2)", m,
			l.Pipeline)
	}
	return nil
}

// experts returns the number of experts of a model; 1 without.
func experts(m *models.Architecture) int {
	if e := m.Experts(); e != nil {
		return e.Experts
	}
	return 1
}
