package load

import "sync"

// inbox holds the answers that requests under way have left for the generator.
type inbox struct {
	mu   sync.Mutex
	full []*answer
	read []*answer
}

func (b *inbox) put(a *answer) {
	b.mu.Lock()
	b.full = append(b.full, a)
	b.mu.Unlock()
}

// take returns the answers since the last call, valid until the next.
func (b *inbox) take() []*answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.full, b.read = b.read[:0], b.full
	return b.read
}
