package steptime

import (
	"fmt"

	"github.com/llmsim/llmsim/models"
)

// Images describes the images or sounds that every prompt begins with. The zero value means no
// images.
type Images struct {
	// Count is the number of images, and Width and Height are the size of each in pixels. If
	// Seconds is not 0, they are sounds of that length.
	Count, Width, Height int
	Seconds              float64
}

// ImageTokens returns the number of tokens of one image or sound for the model, and the FLOPs of
// encoding it. It returns an error if the model's config does not say how it becomes tokens.
func ImageTokens(model *models.Architecture, i Images) (tokens int, flops float64, err error) {
	if i.Seconds > 0 {
		return soundTokens(model, i.Seconds)
	}
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

func soundTokens(model *models.Architecture, seconds float64) (tokens int, flops float64,
	err error) {
	for _, t := range model.Towers {
		if t.Sounds == nil {
			continue
		}
		if longest := t.Sounds.LongestSound(); seconds > longest {
			return 0, 0, fmt.Errorf("%s takes sounds of at most %g s, found %g s", model.Name,
				longest, seconds)
		}
		tokens, flops = t.Sounds.Encode(seconds)
		return tokens, flops, nil
	}
	return 0, 0, fmt.Errorf("%s has no encoder of sounds whose tokens are known from its config",
		model.Name)
}
