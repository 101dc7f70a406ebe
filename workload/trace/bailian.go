package trace

import (
	"bytes"

	"github.com/llmsim/llmsim/sim"
)

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
