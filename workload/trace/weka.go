package trace

import (
	"bytes"
	"math"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
)

// weka reads Weka's traces of agents, which AgentX replays: an object for each session, with its
// requests and the requests of the agents that they start.
type weka struct {
	shareGPT
	sessions int64
	calls    []Turn
}

// wekaSession is an object of the file. Its hashes mean the same text within it only.
type wekaSession struct {
	BlockSize int64         `json:"block_size"`
	Requests  []wekaRequest `json:"requests"`
}

// wekaRequest is a request (n, s) or an agent (subagent). Times are in seconds.
type wekaRequest struct {
	Type     string        `json:"type"`
	At       float64       `json:"t"`
	In       int64         `json:"in"`
	Out      int64         `json:"out"`
	HashIDs  []uint64      `json:"hash_ids"`
	Took     float64       `json:"api_time"`
	Think    *float64      `json:"think_time"`
	Requests []wekaRequest `json:"requests"`
}

func fitsWeka(head []byte) bool {
	return head[0] == '{' && bytes.Contains(head, []byte(`"block_size"`)) &&
		bytes.Contains(head, []byte(`"requests"`))
}

func newWeka(f *file, o Options, c *Counts) (decoder, error) {
	d, err := newShareGPT(f, o, c)
	if err != nil {
		return nil, err
	}
	return &weka{shareGPT: *d.(*shareGPT)}, nil
}

// turns implements sessions.
func (w *weka) turns() []Turn { return w.calls[1:] }

func (w *weka) decode(r *sim.Request) error {
	var s wekaSession
	if err := w.object(&s); err != nil {
		return err
	}
	if s.BlockSize < 1 || s.BlockSize > maxTokens {
		return w.errorf("block_size: found none or %d, allowed: 1 to %d tokens", s.BlockSize,
			maxTokens)
	}
	w.sessions++
	w.calls = w.calls[:0]
	if _, _, err := w.follow(&s, s.Requests, nil, math.Inf(-1)); err != nil {
		return err
	}
	if len(w.calls) == 0 {
		return w.errorf("requests: found none, allowed: one at least")
	}
	first := w.calls[0]
	r.Session, r.Prompt, r.Output, r.Content = w.sessions, first.Message, first.Output,
		append(r.Content, first.Prompt...)
	return nil
}

// follow adds the calls of an agent one after another, the first after the calls of the given
// numbers, which ended at the given time, and returns the last and its end. A call waits for the
// agents that were started since the one before it.
func (w *weka) follow(s *wekaSession, requests []wekaRequest, after []int, end float64) ([]int,
	float64, error) {
	var ends []int // of the agents
	until := end
	for i := range requests {
		q := &requests[i]
		switch {
		case len(w.calls) >= maxRounds:
			return nil, 0, w.errorf("requests: found more than %d in a session", maxRounds)
		case !(q.At >= 0 && q.At < 1e8 && q.Took >= 0 && q.Took < 1e8):
			return nil, 0, w.errorf("requests: t: found %g, with an api_time of %g, allowed: "+
				"seconds from 0", q.At, q.Took)
		}
		if q.Type == "subagent" {
			last, at, err := w.start(s, q, after, end)
			if err != nil {
				return nil, 0, err
			}
			if len(q.Requests) > 0 {
				ends, until = append(ends, last...), max(until, at)
			}
			continue
		}
		call, err := w.call(s, q)
		if err != nil {
			return nil, 0, err
		}
		if call.After = after; len(ends) > 0 {
			call.After = ends // which followed the call before
		}
		if len(call.After) > 0 {
			call.Wait = sim.Seconds(max(0, q.At-until))
			if q.Think != nil && *q.Think >= 0 && *q.Think < 1e8 {
				call.Wait = sim.Seconds(*q.Think)
			}
		}
		after, end, ends = []int{len(w.calls)}, q.At+q.Took, nil
		until = end
		w.calls = append(w.calls, call)
	}
	if len(ends) > 0 {
		return ends, until, nil
	}
	return after, end, nil
}

// start adds the calls of an agent beside the call that comes next. Their times may count from its
// start.
func (w *weka) start(s *wekaSession, q *wekaRequest, after []int, end float64) ([]int, float64,
	error) {
	inner := append([]wekaRequest(nil), q.Requests...)
	if len(inner) > 0 && inner[0].At < q.At {
		for i := range inner {
			inner[i].At += q.At
		}
	}
	return w.follow(s, inner, after, end)
}

// call returns a request of the session.
func (w *weka) call(s *wekaSession, q *wekaRequest) (c Turn, err error) {
	if q.In < 0 || q.In > maxTokens || q.Out < 0 || q.Out > maxTokens {
		return c, w.errorf("requests: found %d tokens in and %d out, allowed: 0 to %d", q.In, q.Out,
			maxTokens)
	}
	c.Message, c.Output = max(int(q.In), 1), max(int(q.Out), 1)
	left, block := c.Message, int(s.BlockSize)
	for _, hash := range q.HashIDs {
		if left <= 0 {
			return c, w.errorf("hash_ids: found %d, allowed: at most one for each %d of the %d "+
				"prompt tokens", len(q.HashIDs), block, q.In)
		}
		number := content.Hash(hash^content.Hash(uint64(w.sessions))) >> 4
		c.Prompt = append(c.Prompt, sim.Segment{ID: content.ID(content.TraceBlock, number),
			Tokens: min(left, block)})
		left -= block
	}
	return c, nil
}
