package serve

// mostTenants bounds the tenants that are counted apart. All that come later count as one.
const mostTenants = 1 << 16

// tenants numbers tenants by their names.
type tenants struct{ numbers map[string]int }

// newTenants numbers the tenants of a scenario as it does. A scenario without has one of no name.
func newTenants(names []string) tenants {
	if len(names) == 0 {
		names = []string{""}
	}
	t := tenants{numbers: map[string]int{}}
	for i, name := range names {
		t.numbers[name] = i
	}
	return t
}

// number returns the number of a tenant; 0 for one without a name.
func (t tenants) number(name string) int {
	n, known := t.numbers[name]
	if known || name == "" {
		return n
	}
	if n = len(t.numbers); n < mostTenants {
		t.numbers[name] = n
	}
	return n
}
