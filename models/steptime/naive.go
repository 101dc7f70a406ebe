package steptime

import "github.com/llmsim/llmsim/models"

// naive returns the work of a chunk whose scores are moved through memory: all pairs are computed,
// also the pairs that a mask or a window hides, and for each pair and head a score is written, read
// and written as a probability, and read again (Dao et al., arXiv:2205.14135, algorithm 0). Kernels
// that choose tokens, and linear attention, have no such form.
func (c *Clock) naive(a *attention, w models.AttentionWork, n, cached int) models.AttentionWork {
	if a.HeadFLOPs == 0 || a.Scan || a.Gathered {
		return w
	}
	pairs, heads := float64(n)*float64(n+cached), a.PrefillFLOPs/a.HeadFLOPs
	w.FLOPs = a.PrefillFLOPs * pairs
	w.IO += 4 * heads * pairs * c.activationBytes
	return w
}
