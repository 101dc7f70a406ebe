package plots

import (
	"math"

	"gonum.org/v1/plot/plotter"
)

const (
	// thinColumns is how many columns a picture can show: one for each point (1/72 inch) of Width,
	// which is how wide a line is. Finer columns would be drawn over each other.
	thinColumns = 510
	// pieceLength bounds the points that are stroked at once. The rasterizer keeps an unindexed
	// list of cells a row, so that the cost of one stroke is quadratic in how often it crosses a
	// row.
	pieceLength = 24
)

// downsample returns the points of a line that a picture can show: of each column the lowest and
// the highest, in the order of the line, beside the first point and the last. The points are in
// order of X.
func downsample(line plotter.XYs) plotter.XYs {
	if len(line) <= 2*thinColumns {
		return line
	}
	low := line[0].X
	width := (line[len(line)-1].X - low) / float64(thinColumns)
	kept := plotter.XYs{line[0]}
	for start := 1; start < len(line)-1; {
		column := math.Floor((line[start].X - low) / width)
		least, most, end := start, start, start+1
		for end < len(line)-1 && math.Floor((line[end].X-low)/width) == column {
			if line[end].Y < line[least].Y {
				least = end
			}
			if line[end].Y > line[most].Y {
				most = end
			}
			end++
		}
		kept = append(kept, line[min(least, most)])
		if least != most {
			kept = append(kept, line[max(least, most)])
		}
		start = end
	}
	return append(kept, line[len(line)-1])
}

// pieces cuts a line into lines that are stroked quickly. Each starts with the last point of the
// one before.
func pieces(line plotter.XYs) []plotter.XYs {
	var list []plotter.XYs
	for len(line) > pieceLength {
		list = append(list, line[:pieceLength:pieceLength])
		line = line[pieceLength-1:]
	}
	return append(list, line)
}
