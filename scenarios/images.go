package scenarios

import (
	"fmt"

	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/sim"
)

// largestImage is the longest side of an image in pixels, and longestSound the longest sound.
const (
	largestImage = 1 << 14
	longestSound = 24 * 3600 * sim.Second
)

// findImages returns the images or sounds of the workload. The model must have a known way to make
// tokens of them.
func (v *server) findImages(model *models.Architecture) steptime.Images {
	asked, sounds := v.written.Workload.Images, v.written.Workload.Audio
	switch {
	case model == nil || asked == nil && sounds == nil:
		return steptime.Images{}
	case asked != nil && sounds != nil:
		v.problem("workload.audio", "prompts begin with images (workload.images) or with sounds; "+
			"leave one of the two out")
		return steptime.Images{}
	case sounds != nil && sim.Time(sounds.Length) > longestSound:
		v.problem("workload.audio.length", "found %v, want at most %v",
			sim.Time(sounds.Length), longestSound)
		return steptime.Images{}
	case sounds != nil:
		return v.counted("workload.audio", "sounds", model, steptime.Images{
			Count: max(1, sounds.Count), Seconds: sim.Time(sounds.Length).Seconds()})
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
	return v.counted("workload.images", "images", model, images)
}

// counted returns images, or sounds, of which the model makes tokens, and says how many.
func (v *server) counted(field, kind string, model *models.Architecture,
	images steptime.Images) steptime.Images {
	tokens, _, err := steptime.ImageTokens(model, images)
	if err != nil {
		v.problem(field, "%v", err)
		return steptime.Images{}
	}
	v.warn("each prompt begins with %d %s of %d tokens, which its length counts", images.Count,
		kind, tokens)
	return images
}
