package speculation

// counter is a number for each of 64 steps: the binary digits of the same place are the bits of one
// word.
type counter struct {
	digits [24]uint64
	used   int
}

// clear makes all numbers 0.
func (c *counter) clear() {
	clear(c.digits[:c.used])
	c.used = 0
}

// add adds 1 in the steps whose bits are set.
func (c *counter) add(word uint64) {
	i := 0
	for ; word != 0; i++ {
		c.digits[i], word = c.digits[i]^word, c.digits[i]&word
	}
	c.used = max(c.used, i)
}

// subtract takes 1 away in the steps whose bits are set, where the numbers are greater than 0.
func (c *counter) subtract(word uint64) {
	for i := 0; word != 0; i++ {
		c.digits[i], word = c.digits[i]^word, word&^c.digits[i]
	}
}

// at returns the number of the step of a bit.
func (c *counter) at(bit uint64) int64 {
	n := int64(0)
	for i, word := range c.digits[:c.used] {
		n |= int64(word>>bit&1) << i
	}
	return n
}
