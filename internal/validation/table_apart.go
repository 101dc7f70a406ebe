package validation

import (
	"fmt"
	"slices"
	"strings"
)

// readSiliconApart reads servers with prefill and decode apart, as fleets lists them. A row without
// the number of workers is taken where one configuration fits it, and where that runs without
// multi-token prediction.
func readSiliconApart(c *catalogs, t *table) []*trial {
	survey := surveyApart(t)
	return t.trials(func(r *row) (*trial, string) {
		f, why := survey.fleet(r)
		if why != "" {
			return nil, why
		}
		return c.siliconPools(r, f), ""
	})
}

// shape sets the number of workers and how attention is spread over their accelerators.
func (p *pool) shape(w workers) {
	p.workers, p.Parallelism.Tensor, p.Parallelism.Data = w.count, w.tensor, w.data
	switch {
	case p.Parallelism.Data == 1:
		p.Parallelism.Data = 0
	case w.split:
		p.Parallelism.Expert = 1
	default:
		p.Parallelism.Expert = 0
	}
}

// Fleets of TensorRT-LLM workers behind Dynamo with which InferenceX measured DeepSeek-R1, February
// to March 2026, as its file .github/configs/nvidia-master.yaml and the recipes that it names have
// them. decode_batch is --max_batch_size of a decode worker, of each rank where attention is
// data-parallel; drafted is the number of tokens of multi-token prediction. Frontends are ten
// behind nginx where the recipe does not turn them off (srt-slurm, enable_multiple_frontends).
var fleets = shipped[fleet]("fleets.csv")

// fleet is one of them: a row of fleets.csv.
type fleet struct {
	Engine      string `csv:"engine"`
	GPU         string `csv:"gpu"`
	DType       string `csv:"dtype"`
	Prompt      string `csv:"isl"`
	Output      string `csv:"osl"`
	Concurrency string `csv:"concurrency"`
	// Prefill and Decode are the numbers of workers, and degrees of each of them.
	Prefill       int `csv:"prefill_workers"`
	PrefillTensor int `csv:"prefill_tp"`
	PrefillData   int `csv:"prefill_dp"`
	PrefillExpert int `csv:"prefill_ep"`
	Decode        int `csv:"decode_workers"`
	DecodeTensor  int `csv:"decode_tp"`
	DecodeData    int `csv:"decode_dp"`
	// Tokens are the tokens of a step that a rank of a prefill worker takes (--max_num_tokens),
	// Batch the sequences that a rank of a decode worker takes.
	Tokens int `csv:"prefill_tokens"`
	Batch  int `csv:"decode_batch"`
	// Drafted is the number of tokens of multi-token prediction, Frontends of routers before the
	// workers.
	Drafted   int `csv:"drafted"`
	Frontends int `csv:"frontends"`
}

// workers are servers alike, each of tensor × data accelerators. Where there are data-parallel
// ranks, split says that each expert is split over all of them, rather than experts spread.
type workers struct {
	count, tensor, data int
	split               bool
}

func (f *fleet) prefill() workers {
	return workers{f.Prefill, f.PrefillTensor, f.PrefillData,
		f.PrefillData > 1 && f.PrefillExpert == 1}
}

func (f *fleet) decode() workers { return workers{f.Decode, f.DecodeTensor, f.DecodeData, false} }

func (w workers) accelerators() int { return w.tensor * w.data }

// accelerators returns the accelerators of a worker at an end that the row names, prefill or
// decode.
func (r *row) accelerators(end string) int {
	return int(max(1, r.number(end+"_tp|=1")) * max(1, r.number(end+"_dp|=1")))
}

// published returns the fleets that may be the one of the row, without multi-token prediction and
// with it. Workers must have the number that the row says, if it does, and the size.
func published(r *row) (plain, drafting []fleet) {
	for _, f := range fleets() {
		same := f.Engine == r.text("backend") && strings.HasPrefix(r.text("gpu"), f.GPU) &&
			f.DType == r.text("precision") &&
			strings.Contains(strings.ToLower(r.text("model")), "deepseek") &&
			f.Prompt == r.text("isl") && f.Output == r.text("osl") &&
			f.Concurrency == r.text("concurrency") &&
			f.prefill().fits(r, "prefill") && f.decode().fits(r, "decode")
		switch {
		case same && f.Drafted == 0:
			plain = append(plain, f)
		case same:
			drafting = append(drafting, f)
		}
	}
	return plain, drafting
}

func (w workers) fits(r *row, end string) bool {
	return w.accelerators() == r.accelerators(end) &&
		w.count == r.count(fmt.Sprint(end, "_workers|=", w.count))
}

// apartSurvey is what the rows of a table say of each other.
type apartSurvey struct {
	// slowest and fastest are the times per output token of rows alike in all that distinguishes
	// loads apart.
	slowest, fastest map[string]float64
	// complete holds measurements of rows that have the number of workers.
	complete map[string]bool
}

func surveyApart(t *table) *apartSurvey {
	s := &apartSurvey{map[string]float64{}, map[string]float64{}, map[string]bool{}}
	for i := range t.rows {
		r := &t.rows[i]
		if !r.holds(t.kind.Rows) {
			continue
		}
		load, token := apartLoad(r), r.figure("tpot_ms")
		s.slowest[load] = max(s.slowest[load], token)
		if least, ok := s.fastest[load]; !ok || token < least {
			s.fastest[load] = token
		}
		if knowsWorkers(r) {
			s.complete[apartMeasurement(r)] = true
		}
	}
	return s
}

func knowsWorkers(r *row) bool {
	return r.text("prefill_workers") != "" && r.text("decode_workers") != ""
}

// apartLoad names the load and the size of workers. DeepSeek-R1 and V3, which are one architecture,
// count as one.
func apartLoad(r *row) string {
	fields := []string{fmt.Sprint(r.accelerators("prefill")), fmt.Sprint(r.accelerators("decode"))}
	for _, column := range []string{"backend", "gpu", "precision", "isl", "osl", "concurrency"} {
		fields = append(fields, r.text(column))
	}
	return strings.Join(fields, ",")
}

func apartMeasurement(r *row) string {
	return strings.Join([]string{apartLoad(r), r.text("ttft_ms"), r.text("tpot_ms")}, ",")
}

// fleet returns the published fleet of a row, nil where it is not published but the row itself says
// enough, or why the row is left out.
func (s *apartSurvey) fleet(r *row) (f *fleet, why string) {
	plain, drafted := published(r)
	load, known := apartLoad(r), knowsWorkers(r)
	alone := s.fastest[load] >= drafting*s.slowest[load]
	switch {
	case !known && s.complete[apartMeasurement(r)]:
		return nil, "is in the table again, with the number of workers"
	case len(drafted) > 0 && (len(plain) == 0 || r.figure("tpot_ms") < drafting*s.slowest[load]):
		return nil, "multi-token prediction was on"
	case len(plain) == 1 && (known || len(drafted) == 0 || !alone):
		return &plain[0], ""
	case known:
		return nil, ""
	case len(plain) == 0:
		return nil, "the number of workers is not known, and no configuration published fits"
	}
	return nil, "several configurations published fit"
}

// drafting is the share by which a token is faster with multi-token prediction at least.
const drafting = 0.88

// speculativeTwins returns the rows that have a twin, alike in all columns but the times, the
// version and which DeepSeek it is, with at most the same number of clients, that took longer by
// more than runs of one server differ: the table has no column for multi-token prediction, and
// DeepSeek's were run with it and without.
func speculativeTwins(t *table) map[int]bool {
	alike := map[string][]*row{}
	for i := range t.rows {
		if r := &t.rows[i]; strings.Contains(strings.ToLower(r.text("model")), "deepseek") {
			k := twinKey(r)
			alike[k] = append(alike[k], r)
		}
	}
	twins := map[int]bool{}
	for _, rows := range alike {
		for _, r := range rows {
			for _, other := range rows {
				if other.figure("concurrency") <= r.figure("concurrency") &&
					r.figure("tpot_ms") < drafting*other.figure("tpot_ms") {
					twins[r.line] = true
				}
			}
		}
	}
	return twins
}

// twinKey returns what twins have in common.
func twinKey(r *row) string {
	fields := slices.Clone(r.fields)
	for _, name := range []string{"ttft_ms", "tpot_ms", "concurrency", "model", "backend_version",
		"month"} {
		fields[r.table.columns[name]] = ""
	}
	return strings.Join(fields, ",")
}
