package steptime

import (
	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
)

// Config describes a replica: the model, the accelerators, the parallelism and the engine.
type Config struct {
	Model       *models.Architecture
	Accelerator *hardware.Accelerator
	// ScaleUp joins the accelerators of a node, and Network joins nodes. Each may be nil if it is
	// not needed.
	ScaleUp, Network *hardware.Link
	Parallel         Parallelism
	// Weights is the number format of the layers' matrices, KV the format of the cache, and
	// Activations the format of everything else. Empty formats follow the model: the published
	// format for weights, and 16 bits for the others, or 32 if the model is published in 32 bits.
	Weights, KV, Activations hardware.DType
	Engine                   Engine
	// Version is the release of the engine; the zero Version if it is not known.
	Version engines.Version
	// Constants are the fitted efficiencies of the accelerator; nil takes the constants of the
	// nearest measured relative.
	Constants *hardware.Constants
	// Kernels are the constants of the engine's kernels on the accelerator. If it is nil, the
	// engine's family on the nearest relative that was measured gives the constants.
	Kernels *hardware.Kernels
	// Host is the time of the host, as a multiple of the time of an H100 machine's host; 0 takes
	// the value of Constants.
	Host float64
	// Operators are kernels measured on the accelerator, which replace formulas within the measured
	// range; nil without images.
	Operators *Tables
	// Given are step times that replace all predictions; nil without given times.
	Given *Given
	// Images are the images that every prompt begins with.
	Images Images
	// Adapters are the adapters of the model.
	Adapters Adapters
	// Factors come from a deployment to which the predictions were fitted.
	Factors Factors
	// Slowdown is a factor on the predicted times of all steps, to show what follows if the
	// prediction is wrong; 0 means 1.
	Slowdown float64
}
