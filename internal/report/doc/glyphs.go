package doc

import (
	"math"
	"slices"
	"strings"
)

// levels are columns of rising height, and blocks are rows of rising length; both in eighths.
const (
	levels = " ▁▂▃▄▅▆▇█"
	blocks = " ▏▎▍▌▋▊▉█"
)

// Spark draws values as columns, each the mean of the values that fall into it; top is the value of
// full height. What is above 0 is seen, however small. The result is width characters wide, or as
// wide as there are values.
func Spark(values []float64, width int, top float64) string {
	width = min(width, len(values))
	heights := []rune(levels)
	var b strings.Builder
	for i := range width {
		mean := Mean(values[i*len(values)/width : (i+1)*len(values)/width])
		eighths := 0
		if mean > 0 && top > 0 {
			eighths = max(1, min(8, int(math.Round(8*mean/top))))
		}
		b.WriteRune(heights[eighths])
	}
	return b.String()
}

// Mean returns the mean of at least one value.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Bar draws a share in [0, 1] of width characters, and fills the rest with spaces.
func Bar(share float64, width int) string {
	lengths := []rune(blocks)
	eighths := int(math.Round(8 * float64(width) * max(0, min(1, share))))
	bar := strings.Repeat("█", eighths/8)
	if eighths%8 > 0 {
		bar += string(lengths[eighths%8])
	}
	return bar + strings.Repeat(" ", width-(eighths+7)/8)
}

// Change draws a relative change, in [-1, 1], as a bar to the left or to the right of a line in the
// middle. It is 2·half+1 characters wide. A change that is not certain is drawn lightly; any change
// is seen.
func Change(change float64, half int, certain bool) string {
	mark := "█"
	if !certain {
		mark = "░"
	}
	n := min(half, int(math.Ceil(math.Abs(change)*float64(half))))
	left, right := strings.Repeat(" ", half), strings.Repeat(" ", half)
	if change < 0 {
		left = strings.Repeat(" ", half-n) + strings.Repeat(mark, n)
	} else {
		right = strings.Repeat(mark, n) + strings.Repeat(" ", half-n)
	}
	return left + "│" + right
}

// Shade returns the fill of part i of a Stack.
func Shade(i int) string {
	shades := []rune("█▓▒░")
	return string(shades[i%len(shades)])
}

// Stack draws parts of whole after each other in width characters, each filled with its Shade. What
// parts leave is dots. Every part above 0 is seen, if there is room for all. Parts that are more
// than whole end where it ends.
func Stack(parts []float64, whole float64, width int) string {
	var b strings.Builder
	drawn, sum := 0, 0.0
	for i, part := range parts {
		sum += part
		end := int(math.Round(float64(width) * sum / whole))
		if part > 0 {
			end = max(end, drawn+1)
		}
		end = min(end, width)
		if end > drawn {
			b.WriteString(strings.Repeat(Shade(i), end-drawn))
			drawn = end
		}
	}
	return b.String() + strings.Repeat("·", width-drawn)
}

// Scale draws a value as a bar on a logarithmic scale from low to high, with a line at mark. All
// are positive.
func Scale(value, low, high, mark float64, width int) string {
	at := func(x float64) int {
		return max(0, min(width-1,
			int(math.Round(float64(width-1)*math.Log(x/low)/math.Log(high/low)))))
	}
	cells := slices.Repeat([]rune{' '}, width)
	for i := range at(value) + 1 {
		cells[i] = '█'
	}
	if line := at(mark); cells[line] == ' ' {
		cells[line] = '│'
	} else {
		cells[line] = '┃'
	}
	return string(cells)
}
