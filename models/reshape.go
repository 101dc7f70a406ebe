package models

import "fmt"

// WithKVHeads returns the model with n KV heads in each layer of softmax attention, to see
// what sharing them saves (Ainslie et al., arXiv:2305.13245). The error says why it cannot have as
// many.
func (a *Architecture) WithKVHeads(n int) (*Architecture, error) {
	changed := *a
	changed.Name = fmt.Sprintf("%s with %d KV heads", a.Name, n)
	changed.Groups = nil
	found := false
	for _, g := range a.Groups {
		if m, ok := g.Mixer.(*Softmax); ok {
			other := *m
			other.KVHeads, found = n, true
			g.Mixer = &other
		}
		changed.Groups = append(changed.Groups, g)
	}
	if !found {
		return nil, fmt.Errorf("%s has no layers with KV heads", a.Name)
	}
	return &changed, changed.Validate()
}
