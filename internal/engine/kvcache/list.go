package kvcache

// list is a doubly linked list of blocks, in order of arrival.
type list struct {
	after, before []int32 // of each block; the last element of each is the list's own end
	length        int
}

func newList(blocks int) list {
	l := list{after: make([]int32, blocks+1), before: make([]int32, blocks+1)}
	l.after[blocks], l.before[blocks] = int32(blocks), int32(blocks)
	return l
}

func (l *list) end() int32 { return int32(len(l.after) - 1) }

// first returns the block that arrived first; the list must not be empty.
func (l *list) first() int32 { return l.after[l.end()] }

func (l *list) append(block int32) {
	end := l.end()
	last := l.before[end]
	l.after[last], l.before[block] = block, last
	l.after[block], l.before[end] = end, block
	l.length++
}

func (l *list) remove(block int32) {
	l.after[l.before[block]], l.before[l.after[block]] = l.after[block], l.before[block]
	l.length--
}
