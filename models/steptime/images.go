package steptime

import (
	"fmt"

	"github.com/llmsim/llmsim/models"
)

// Images describes the images that every prompt begins with. The zero value means none.
type Images struct {
	// Count is the number of images, and Width and Height are the size of each in pixels.
	Count, Width, Height int
}

// ImageTokens returns the number of tokens of one image for the model. It returns an error if the
// model's config does not say how pixels become tokens.
func ImageTokens(model *models.Architecture, i Images) (tokens int, flops float64, err error) {
	for _, t := range model.Towers {
		if t.Images != nil {
			tokens, flops = t.Images.Encode(i.Width, i.Height)
			return tokens, flops, nil
		}
	}
	if len(model.Towers) == 0 {
		return 0, 0, fmt.Errorf("%s has no encoder of images in its config", model.Name)
	}
	return 0, 0, fmt.Errorf("how %s makes tokens of images is not known from its config",
		model.Name)
}
