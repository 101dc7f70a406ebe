package plots

import (
	"image"
	"image/color"
	"image/png"
	"io"

	"gonum.org/v1/plot/vg/vgimg"
)

// writePNG writes a picture. Pictures have few colours, so that most are written with a palette: a
// third of the size, in a fifth of the time.
func writePNG(w io.Writer, canvas *vgimg.Canvas) error {
	picture := canvas.Image()
	if full, ok := picture.(*image.RGBA); ok {
		if few := indexed(full); few != nil {
			picture = few
		}
	}
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	return encoder.Encode(w, picture)
}

// indexed returns an opaque picture with at most 256 colours of 5 bits a channel, nil if it has
// more.
func indexed(full *image.RGBA) *image.Paletted {
	few := image.NewPaletted(full.Rect, nil)
	// the place of a colour in the palette, and 1; 0 where it is not in it
	var known [1 << 15]uint16
	for i := range few.Pix {
		r, g, b := full.Pix[4*i]>>3, full.Pix[4*i+1]>>3, full.Pix[4*i+2]>>3
		place := &known[int(r)<<10|int(g)<<5|int(b)]
		if *place == 0 {
			if len(few.Palette) == 256 {
				return nil
			}
			few.Palette = append(few.Palette, color.RGBA{r<<3 | r>>2, g<<3 | g>>2, b<<3 | b>>2,
				0xff})
			*place = uint16(len(few.Palette))
		}
		few.Pix[i] = byte(*place - 1)
	}
	return few
}
