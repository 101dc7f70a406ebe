package scenarios

import (
	"fmt"

	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
)

// largestImage is the longest side of an image in pixels.
const largestImage = 1 << 14

// findImages returns the images of the workload. The model must have a known way to make tokens
// from images.
func (v *view) findImages(model *models.Architecture) steptime.Images {
	asked := v.s.Workload.Images
	if asked == nil || model == nil {
		return steptime.Images{}
	}
	images := steptime.Images{Count: max(1, asked.Count)}
	var rest string
	n, _ := fmt.Sscanf(asked.Size+" .", "%dx%d %s", &images.Width, &images.Height, &rest)
	least, most := min(images.Width, images.Height), max(images.Width, images.Height)
	if n != 3 || rest != "." || least < 1 || most > largestImage {
		v.problem("workload.images.size",
			"found %q, want a width and a height from 1 to %d, such as 1024x768", asked.Size,
			largestImage)
		return steptime.Images{}
	}
	tokens, _, err := steptime.ImageTokens(model, images)
	if err != nil {
		v.problem("workload.images", "%v", err)
		return steptime.Images{}
	}
	v.warn("each prompt begins with %d images of %d tokens, which its length counts", images.Count,
		tokens)
	return images
}
