package trace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/sim"
)

// blockTokens is the number of prompt tokens that one of Mooncake's hash_ids names (Qin et al.,
// "Mooncake: Trading More Storage for Less Computation", FAST 2025, section on the released
// traces).
const blockTokens = 512

// mooncakeRow is a line of the file.
type mooncakeRow struct {
	// Timestamp is the arrival in milliseconds.
	Timestamp float64  `json:"timestamp"`
	Input     int64    `json:"input_length"`
	Output    int64    `json:"output_length"`
	HashIDs   []uint64 `json:"hash_ids"`
	// BlockSize is the number of tokens that a hash names; 0 means blockTokens.
	BlockSize int64 `json:"block_size"`
	// BlockSizes are the numbers of tokens of each hash, where they differ (llmsim serve --record).
	BlockSizes []int64 `json:"block_sizes"`
	// ChatID and ParentID number a turn and the one before it in Bailian's traces.
	ChatID   int64 `json:"chat_id"`
	ParentID int64 `json:"parent_chat_id"`
	// Delay is the time in milliseconds after the answer before, in AIPerf's sessions.
	Delay *float64 `json:"delay"`
	// Session names the session.
	Session json.RawMessage `json:"session_id"`
	// AnswerID is the hash that the answer has in later prompts; 0 if no row has it.
	AnswerID uint64 `json:"answer_id"`
}

type mooncake struct {
	file *file
	row  mooncakeRow
	// perSecond is the number of units of a timestamp in a second, unit is their name, and block
	// the number of tokens of a hash where a row does not say it.
	perSecond int64
	unit      string
	block     int64
	// turns is set where rows may follow the answers before them, without a timestamp.
	turns bool
}

func newMooncake(f *file, _ Options, _ *Counts) (decoder, error) {
	m := &mooncake{file: f, perSecond: 1000, unit: "milliseconds", block: blockTokens}
	if conversations(f) {
		m.turns = true
		return newAIPerf(m)
	}
	return m, nil
}

func fitsMooncake(head []byte) bool {
	return head[0] == '{' && bytes.Contains(head, []byte(`"timestamp"`)) &&
		bytes.Contains(head, []byte(`"input_length"`))
}

func (m *mooncake) timed() bool { return true }

func (m *mooncake) decode(r *sim.Request) error {
	line, err := m.file.next()
	if err != nil {
		return err
	}
	// A key that is absent leaves a negative number behind.
	m.row = mooncakeRow{Timestamp: -1, Input: -1, Output: -1, ChatID: -1, ParentID: -1,
		HashIDs: m.row.HashIDs[:0], BlockSizes: m.row.BlockSizes[:0]}
	if err := json.Unmarshal(line, &m.row); err != nil {
		return m.file.errorf("%w", jsonError(err))
	}
	if twice, ok := errors.AsType[files.KeyTwice](files.CheckFields(line)); ok {
		return m.file.errorf("%w", twice)
	}
	if m.row.Delay != nil && m.row.Timestamp < 0 {
		if !m.turns {
			return m.file.errorf("delay: found a row that follows the answer before it, without " +
				"a session_id among the first rows; give each row a session_id, or a timestamp")
		}
		m.row.Timestamp = 0
		defer func() { m.row.Timestamp = -1 }()
	}
	at, err := fromNumber(m.row.Timestamp, m.perSecond)
	if err != nil {
		return m.file.errorf("timestamp: found none or a negative one, allowed: %s from 0", m.unit)
	}
	if r.Arrival, err = at.since(instant{}); err != nil {
		return m.file.errorf("timestamp: %w", err)
	}
	if r.Prompt, err = m.tokens("input_length", m.row.Input); err != nil {
		return err
	}
	if r.Output, err = m.tokens("output_length", m.row.Output); err != nil {
		return err
	}
	return m.blocks(r)
}

func (m *mooncake) tokens(key string, n int64) (int, error) {
	if n < 0 || n > maxTokens {
		return 0, m.file.errorf("%s: found none or %d, allowed: 0 to %d tokens", key, n, maxTokens)
	}
	return int(n), nil
}

// blocks turns the hashes into segments; the last block ends with the prompt.
func (m *mooncake) blocks(r *sim.Request) error {
	if m.row.AnswerID != 0 {
		r.Answer = content.ID(content.TraceBlock, m.row.AnswerID)
	}
	if sizes := m.row.BlockSizes; len(sizes) > 0 && len(sizes) != len(m.row.HashIDs) {
		return m.file.errorf("block_sizes: found %d, allowed: one for each of the %d hash_ids",
			len(sizes), len(m.row.HashIDs))
	}
	block := int(cmp.Or(m.row.BlockSize, m.block))
	if m.row.BlockSize < 0 || m.row.BlockSize > maxTokens {
		return m.file.errorf("block_size: found %d, allowed: 1 to %d tokens", m.row.BlockSize,
			maxTokens)
	}
	left := r.Prompt
	for i, hash := range m.row.HashIDs {
		if len(m.row.BlockSizes) > 0 {
			size := m.row.BlockSizes[i]
			if size < 1 || size > maxTokens {
				return m.file.errorf("block_sizes: found %d, allowed: 1 to %d tokens", size,
					maxTokens)
			}
			block = int(size)
		}
		if left <= 0 {
			return m.file.errorf(
				"hash_ids: found %d, allowed: at most one for each %d of the %d prompt tokens",
				len(m.row.HashIDs), block, r.Prompt)
		}
		r.Content = append(r.Content, sim.Segment{ID: content.ID(content.TraceBlock, hash),
			Tokens: min(left, block)})
		left -= block
	}
	return nil
}

// jsonError words what encoding/json found.
func jsonError(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := cmp.Or(wrong.Field, "row")
		return fmt.Errorf("%s: found a JSON %s, allowed: %s", field, wrong.Value,
			jsonKind(wrong.Type))
	}
	return fmt.Errorf("not valid JSON: %w", err)
}

// jsonKind says in JSON's words what would fit.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int64, reflect.Uint64:
		return "whole numbers"
	case reflect.Float64:
		return "numbers"
	case reflect.Slice:
		return "lists"
	}
	return "objects"
}

// aiperf reads Mooncake's rows as AIPerf sends them (github.com/ai-dynamo/aiperf,
// docs/benchmark-modes/trace-replay.md): the rows of a session_id, one after another, are the turns
// of a conversation. Its first row has a timestamp. The others have a delay, in milliseconds after
// the answer before, and the input_length that they add to the conversation so far: that page tells
// these rows, which accumulate the history, from Bailian's, which hold all of it.
type aiperf struct {
	mooncake
	ahead  aiperfRow // the first of the next session
	ended  bool
	number int64 // of the session that is read, from 1
	later  []Turn
}

// aiperfRow is a row with what its keys say.
type aiperfRow struct {
	sim.Request
	session string
	delay   sim.Time
	follows bool // the answer to the row before
}

// conversations returns whether some of the first rows of a file follow the answers to others.
func conversations(f *file) bool {
	start, _ := f.in.Peek(f.in.Size())
	return bytes.Contains(start, []byte(`"delay"`)) && bytes.Contains(start, []byte(`"session_id"`))
}

func newAIPerf(m *mooncake) (decoder, error) {
	a := &aiperf{mooncake: *m}
	return a, a.next()
}

// turns implements sessions.
func (a *aiperf) turns() []Turn { return a.later }

// next reads a row into ahead.
func (a *aiperf) next() error {
	a.ahead = aiperfRow{}
	err := a.mooncake.decode(&a.ahead.Request)
	if a.ended = err == io.EOF; a.ended {
		return nil
	}
	if err != nil {
		return err
	}
	a.ahead.session = string(a.row.Session)
	a.ahead.follows = a.row.Delay != nil && a.row.Timestamp < 0
	if a.ahead.follows {
		at, err := fromNumber(*a.row.Delay, a.perSecond)
		if err == nil {
			a.ahead.delay, err = at.since(instant{})
		}
		if err != nil {
			return a.file.errorf("delay: found %v, allowed: %s from 0", *a.row.Delay, a.unit)
		}
	}
	return nil
}

// decode reads a session: its first row into r, and the others into later.
func (a *aiperf) decode(r *sim.Request) error {
	if a.ended {
		return io.EOF
	}
	first := a.ahead
	if first.follows {
		return a.file.errorf("delay: found in the first row of the session %.60s; want a "+
			"timestamp there, and the rows of a session one after another", first.session)
	}
	a.number++
	a.later = a.later[:0]
	r.Arrival, r.Session, r.Prompt, r.Output = first.Arrival, a.number, first.Prompt, first.Output
	r.Answer = a.answer(0)
	text, before := a.extend(nil, &first.Request, 0), first
	r.Content = append(r.Content, text...)
	length := first.Prompt + first.Output
	for turn := uint64(1); ; turn++ {
		if err := a.next(); err != nil {
			return err
		}
		next := a.ahead
		if a.ended || !next.follows || next.session != first.session {
			break
		}
		if length += next.Prompt + next.Output; length > maxTokens || turn >= maxRounds {
			return a.file.errorf("session_id: found a session of more than %d tokens, or of more "+
				"than %d turns", maxTokens, maxRounds)
		}
		added := Turn{Output: max(1, next.Output), Wait: next.delay, After: []int{int(turn) - 1}}
		text = append(text, sim.Segment{ID: a.answer(turn - 1), Tokens: max(1, before.Output)})
		text = a.extend(text, &next.Request, turn)
		added.Prompt, added.Answer = slices.Clone(text), a.answer(turn)
		for _, part := range text {
			added.Message += part.Tokens
		}
		a.later = append(a.later, added)
		before = next
	}
	return nil
}

// answer returns what the answer of a turn of the session is called.
func (a *aiperf) answer(turn uint64) uint64 {
	return content.ID(content.TraceBlock, content.Hash((2*turn+1)^
		content.Hash(uint64(a.number)))>>4)
}

// extend returns a text with what a turn adds: what its hashes name, and the rest by itself.
func (a *aiperf) extend(text []sim.Segment, r *sim.Request, turn uint64) []sim.Segment {
	text = append(text, r.Content...)
	left := r.Prompt
	for _, part := range r.Content {
		left -= part.Tokens
	}
	if left > 0 {
		text = append(text, sim.Segment{Tokens: left, ID: content.ID(content.TraceBlock,
			content.Hash((2*turn)^content.Hash(uint64(a.number)))>>4)})
	}
	return text
}

// bailianTokens is the number of prompt tokens for which one hash of a Bailian trace stands.
const bailianTokens = 16

// mostChats bounds the turns whose chats are remembered. Later turns follow soon in recorded chats.
const mostChats = 1 << 20

// bailian reads the traces of Alibaba's Bailian: rows of Mooncake's form that also say which turn
// follows which.
type bailian struct {
	mooncake
	// session is the number of a turn's chat, which is its first turn's plus 1; turns are the keys,
	// the oldest first.
	session map[int64]int64
	turns   []int64
}

func newBailian(f *file, _ Options, _ *Counts) (decoder, error) {
	return &bailian{session: map[int64]int64{},
		mooncake: mooncake{file: f, perSecond: 1, unit: "seconds", block: bailianTokens}}, nil
}

func fitsBailian(head []byte) bool {
	return fitsMooncake(head) && bytes.Contains(head, []byte(`"chat_id"`)) &&
		bytes.Contains(head, []byte(`"parent_chat_id"`))
}

func (b *bailian) decode(r *sim.Request) error {
	if err := b.mooncake.decode(r); err != nil {
		return err
	}
	chat := b.row.ChatID
	if chat < 0 || chat > maxNumber {
		return b.file.errorf("chat_id: found none or %d, allowed: whole numbers from 0", chat)
	}
	session, follows := b.session[b.row.ParentID]
	if !follows {
		session = chat + 1
	}
	if _, twice := b.session[chat]; !twice {
		b.turns = append(b.turns, chat)
	}
	b.session[chat] = session
	if len(b.turns) > mostChats {
		delete(b.session, b.turns[0])
		b.turns = b.turns[1:]
	}
	r.Session = session
	return nil
}
