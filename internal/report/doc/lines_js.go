package doc

// Lines returns about how many lines of text a document is. A page in a browser breaks lines as it
// likes, and has no tables of terminals to measure.
func (b Blocks) Lines() (n int) {
	for i := range b {
		n += 1 + len(b[i].Words)/80 + len(b[i].Rows)
	}
	return n
}
