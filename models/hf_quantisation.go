package models

import "github.com/llmsim/llmsim/hardware"

// quantisation is how a checkpoint stores the matrices of its layers.
type quantisation struct {
	// groups are the formats of matrices, the first whose targets name a module; excluded modules
	// stay as tensors are.
	groups   []quantised
	excluded modulePatterns
	// byModule are formats of single modules, which come before all others.
	byModule []quantised
	// only are the modules that are quantised, where the checkpoint lists them; empty means all.
	only modulePatterns
	// expertsOnly reports whether nothing but routed experts is quantised.
	expertsOnly bool
	kv          hardware.DType
}

// quantised is a format with the modules that have it; none means all.
type quantised struct {
	targets modulePatterns
	format  Format
}
