package answer

import "github.com/llmsim/llmsim/internal/report/doc"

// Document says what a short page does, at any length.
func (a *Answers) Document() (p doc.Blocks) {
	for _, one := range a.Models {
		list, _ := one.page(Short, len(a.Models) > 1).blocks(unlimited)
		p = append(p, list...)
	}
	return p
}
