package mixers

import (
	"os"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/must"
	"github.com/llmsim/llmsim/internal/sharedfiles"
)

// Each kind of mixer is about as far from the kernels of an H200 as docs/models.md says.
func TestErrorsByKind(t *testing.T) {
	if testing.Short() {
		t.Skip("reads tables of 400,000 kernels")
	}
	catalog, err := hardware.Load()
	must.OK(t, err)
	h200, err := catalog.Accelerator("h200-sxm")
	must.OK(t, err)
	catalog.Accelerators = []hardware.Accelerator{h200}
	results, err := Compare(os.DirFS(sharedfiles.Path(t, "measured", "kernels")), catalog)
	must.OK(t, err)
	found := map[string]Result{}
	for _, r := range results {
		found[r.Engine+" "+r.Kind+" "+r.Phase] = r
	}
	for name, most := range map[string]float64{
		"vllm gated delta net prefill": 0.16, "vllm gated delta net decode": 0.08,
		"trtllm gated delta net prefill":    0.08,
		"vllm Kimi delta attention prefill": 0.18, "vllm Kimi delta attention decode": 0.06,
		"sglang Kimi delta attention prefill": 0.11,
		"vllm hyper-connections prefill":      0.1, "sglang hyper-connections prefill": 0.1,
		// These rest on what ordinary attention reaches, which changes with each fit to servers.
		"trtllm latent attention decode": 0.6, "trtllm latent attention prefill": 0.35,
		"vllm latent attention, module decode": 0.45, "vllm latent attention, module prefill": 0.35,
		"vllm sparse latent attention, module decode":         0.5,
		"sglang sparse attention (MiniMax-M3), module decode": 0.4,
	} {
		if r := found[name]; r.Kernels < 40 || r.Error > most {
			t.Errorf("%s: median error %.1f %% of %d kernels, want at most %.1f %%", name,
				100*r.Error, r.Kernels, 100*most)
		}
	}
}
