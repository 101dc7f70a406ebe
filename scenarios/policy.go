package scenarios

import (
	"cmp"
	"errors"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// choose finds the policy of that name, or the family's first, and completes its parameters. If
// there is no such policy, it notes the problem, and the Policy of the result is nil. anywhere is a
// place that has everything that a policy may need; adjust may change settings.
func choose[T any](v *server, anywhere policies.Deployment, field string,
	family *policies.Family[T], to policySlot,
	adjust func(c *deployment.Choice[T])) deployment.Choice[T] {
	*to.policy = cmp.Or(*to.policy, family.Policies[0].Name)
	choice, err := deployment.Choose(family, *to.policy, *to.params)
	if choice.Policy == nil {
		v.problem(field+".policy", "%v", err)
		return choice
	}
	if err == nil {
		if adjust != nil {
			adjust(&choice)
		}
		to.fill(&choice)
		_, err = choice.Build(anywhere)
	}
	if err != nil {
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
