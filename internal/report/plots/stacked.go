package plots

import (
	"image/color"

	"gonum.org/v1/plot"
)

// Stacked draws a bar for each name, in which the vertical values of the series stand on each other
// in their order.
func Stacked(title, x, y string, names []string, stack []Series) (*plot.Plot, error) {
	p := newPlot(title, x, y)
	p.Y.Min = 0
	if err := addStack(p, stack, stackColour); err != nil {
		return nil, err
	}
	nominalX(p, names)
	p.Legend.Top, p.Legend.Left, p.Legend.XOffs = true, true, 4
	leaveRoom(p, len(stack)+1)
	return p, nil
}

// stackColour returns the colour of part i of a stack: greys where the others are used up.
func stackColour(i int, _ string) color.Color {
	if n := len(colours()); i >= n {
		return color.Gray{uint8(0x80 + 0x20*(i-n)%0x80)}
	}
	return colour(i)
}
