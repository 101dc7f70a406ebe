package scenarios

import (
	"cmp"
	"strings"

	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// applyDeployment applies the deployment that the scenario names to its engine and to the server,
// if it is of the same model, accelerator and engine, and returns it. A deployment of another
// model, accelerator or engine changes nothing, and a warning says so. applyDeployment also returns
// nil where the scenario changes the predictions that the deployment's errors were measured on.
func (v *view) applyDeployment(e *Engine, c *deployment.Config) (of *Fitted) {
	var fitted Factors
	if e.Deployment != "" && len(v.problems) == 0 {
		if d := v.readDeployment(); d != nil && v.matchesDeployment(d, c) {
			of, fitted = d, d.Factors
			e.Factors = e.Factors.or(fitted)
		}
	}
	// factors that are written out as they were fitted change nothing
	if c.Physics.Adjusted || e.Factors != fitted {
		of = nil
	}
	c.Physics.Adjusted = c.Physics.Adjusted || e.Factors != (Factors{})
	c.Physics.Factors = e.Factors.fitted()
	return of
}

func (v *view) readDeployment() *Fitted {
	path := v.locate("engine.deployment", v.written.Engine.Deployment)
	d, err := ReadFitted(v.file.files(), path)
	if err != nil {
		v.problem("engine.deployment", "%v", err)
		return nil
	}
	return d
}

// matchesDeployment reports whether a deployment has the model, the accelerator and the engine of
// the server.
func (v *view) matchesDeployment(d *Fitted, c *deployment.Config) bool {
	var other []string
	for _, part := range [][3]string{{"model", d.Model, c.Model.Name},
		{"accelerator", d.Accelerator, c.Accelerator.Name}, {"engine", d.Engine, c.Engine.Name}} {
		if part[1] != part[2] {
			other = append(other, part[0]+" "+part[1])
		}
	}
	if len(other) > 0 {
		v.warn("engine.deployment was fitted to %s: it is not used here", strings.Join(other, ", "))
	}
	return len(other) == 0
}

// MostOwnError is the largest error, on what was held out, with which a fit is of the server, and
// is evidence.
const MostOwnError = 0.15

// ownEvidence returns what a deployment's measurements say of the server, whose parallelism is
// chosen: nothing, if it is spread over another number of accelerators or has another version of
// the engine.
func (v *view) ownEvidence(d *Fitted, c *deployment.Config) *evidence.Own {
	tensor, version := cmp.Or(d.Tensor, 1), c.Release.Version.String()
	switch {
	case c.Parallel.Tensor != tensor:
		v.warn("engine.deployment was fitted with tensor parallelism %d: its errors do not hold "+
			"here", tensor)
	case d.EngineVersion != "" && d.EngineVersion != version:
		v.warn("engine.deployment was fitted to version %s of the engine: its errors do not hold "+
			"for %s", d.EngineVersion, version)
	case max(d.Errors.TTFT, d.Errors.TPOT, d.Errors.E2E, d.Errors.Steps) > MostOwnError:
		v.warn("engine.deployment was off by more than %.0f%% on what was held out of its fit: "+
			"it is no evidence", 100*MostOwnError)
	case d.Errors == (Errors{}):
		v.warn("engine.deployment says no errors: none was held out of its fit")
	default:
		return &evidence.Own{Measured: d.Measured, Expires: d.Expires, TPOT: d.Errors.TPOT,
			TTFT: d.Errors.TTFT}
	}
	return nil
}
