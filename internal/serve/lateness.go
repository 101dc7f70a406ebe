package serve

import (
	"fmt"
	"sync"
	"time"
)

// Lateness of delivery is looked at in windows of this length. Above doubtful, the times that
// clients measure are no longer the fleet's.
const (
	latenessWindow = 5 * time.Second
	doubtful       = 10 * time.Millisecond
)

// lateness measures how late tokens of the fleet were written to clients: by the simulation, by
// the goroutines of the answers, and by the connections.
type lateness struct {
	// warn, if set, is called once a window in which a tenth of the deliveries was doubtful.
	warn func(message string)

	mu        sync.Mutex
	begun     time.Time
	last, now window
}

// window counts deliveries.
type window struct {
	worst       time.Duration
	count, late int
}

// recordDelivery counts something that was written at a moment that was due at another.
func (l *lateness) recordDelivery(due, written time.Time) {
	by := max(written.Sub(due), 0)
	l.mu.Lock()
	ended := l.turn(written)
	l.now.count++
	l.now.worst = max(l.now.worst, by)
	if by > doubtful {
		l.now.late++
	}
	warn := l.warn
	l.mu.Unlock()
	if warn != nil && ended.late*10 > ended.count {
		warn(fmt.Sprintf("of %d deliveries in the last %v, %d came more than %v late, and one %v: "+
			"clients see longer times than the fleet's; serve less traffic, give the server more "+
			"processors, or lower --speed", ended.count, latenessWindow, ended.late, doubtful,
			ended.worst.Round(time.Millisecond)))
	}
}

// turn begins another window if this one is over, and returns the one that ended, if any.
func (l *lateness) turn(now time.Time) (ended window) {
	if now.Sub(l.begun) < latenessWindow {
		return window{}
	}
	ended = l.now
	if now.Sub(l.begun) >= 2*latenessWindow {
		ended = window{} // which was long ago
	}
	l.last, l.now, l.begun = ended, window{}, now
	return ended
}

// worst returns the latest delivery of this window and the one before.
func (l *lateness) worst(now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(now)
	return max(l.last.worst, l.now.worst)
}
