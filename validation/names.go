package validation

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
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

func (c *catalogs) model(name string) (*models.Architecture, error) {
	m, err := c.models.Lookup(name)
	if err != nil {
		return nil, &unknownName{"model", name}
	}
	return m, nil
}

// accelerator finds a GPU. Besides the catalogue's names, the vendor may stand before them.
func (c *catalogs) accelerator(name string) (hardware.Accelerator, error) {
	short := strings.ToLower(strings.TrimSpace(name))
	for _, vendor := range []string{"nvidia", "amd"} {
		short = strings.TrimLeft(strings.TrimPrefix(short, vendor), " -_")
	}
	a, err := c.hardware.Accelerator(short)
	if err != nil {
		return a, &unknownName{"GPU", name}
	}
	return a, nil
}

// links returns the usual links of an accelerator; nil where it has none.
func (c *catalogs) links(a *hardware.Accelerator) (scaleUp, network *hardware.Link, err error) {
	find := func(name string) *hardware.Link {
		if name == "" || err != nil {
			return nil
		}
		var l hardware.Link
		l, err = c.hardware.Link(name)
		return &l
	}
	return find(a.ScaleUp), find(a.Network), err
}

// dtypes are the spellings of number formats in tables. Those scaled by block compute like the format itself.
var dtypes = map[string]hardware.DType{
	"fp16": hardware.FP16, "float16": hardware.FP16, "half": hardware.FP16,
	"bf16": hardware.BF16, "bfloat16": hardware.BF16,
	"fp32": hardware.FP32, "float32": hardware.FP32, "float": hardware.FP32,
	"fp8": hardware.FP8, "fp8_block": hardware.FP8, "fp8_e4m3": hardware.FP8, "float8": hardware.FP8,
	"int8": hardware.INT8, "w8a8": hardware.INT8,
	"int4": hardware.INT4, "int4_wo": hardware.INT4, "awq": hardware.INT4, "gptq": hardware.INT4, "w4a16": hardware.INT4,
	"fp4": hardware.FP4, "nvfp4": hardware.FP4, "mxfp4": hardware.FP4,
}

func parseDType(name string) (hardware.DType, error) {
	d, ok := dtypes[strings.ToLower(strings.TrimPrefix(name, "torch."))]
	if !ok {
		return "", &unknownName{"number format", name}
	}
	return d, nil
}

// presets are the names of engines in tables.
var presets = map[string]string{
	"vllm": "vllm-v1", "vllm-v1": "vllm-v1", "vllm_v1": "vllm-v1",
	"trtllm": "trtllm", "trt-llm": "trtllm", "tensorrt-llm": "trtllm", "tensorrt_llm": "trtllm", "nim": "trtllm",
	"sglang": "sglang", "lmdeploy": "lmdeploy", "turbomind": "lmdeploy", "eager-2023": "eager-2023",
}

func parseEngine(name string) (string, error) {
	e, ok := presets[strings.ToLower(name)]
	if !ok {
		return "", &unknownName{"engine", name}
	}
	return e, nil
}
