package scenarios

import (
	"cmp"
	"errors"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// choose finds the policy of that name, or the family's first, and completes its parameters. If
// there is no such policy, it notes the problem, and the Policy of the result is nil. anywhere is a
// place that has everything that a policy may need.
func choose[T any](v *server, anywhere policies.Deployment, field string,
	family *policies.Family[T],
	name *string, params *map[string]string) deployment.Choice[T] {
	*name = cmp.Or(*name, family.Policies[0].Name)
	choice, err := deployment.Choose(family, *name, *params)
	if err != nil {
		v.problem(field+".policy", "%v", err)
		return choice
	}
	*params = choice.Params
	if _, err := choice.Build(anywhere); err != nil {
		v.policyProblem(field, err)
		return deployment.Choice[T]{}
	}
	return choice
}

// policyProblem notes an error of a policy at the parameter that caused it.
func (v *server) policyProblem(field string, err error) {
	var parameter *policies.ParamError
	if errors.As(err, &parameter) {
		v.problem(field+"."+parameter.Name, "%s", parameter.Problem)
		return
	}
	v.problem(field, "%v", err)
}
