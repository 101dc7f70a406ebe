package validation

import "github.com/llmsim/llmsim/internal/validation/accuracy"

// Where returns the measurements of the tables and groups that keep accepts. What was measured
// together stays together: keep is asked once for the rows of a run, or for the loads of a kernel,
// in the order of the tables.
func (d *Data) Where(keep func(table string, g accuracy.Group) bool) *Data {
	chosen := &Data{}
	for i := range d.tables {
		k := d.tables[i]
		k.experiments = nil
		for _, e := range d.tables[i].experiments {
			if keep(k.name, e.at().Group) {
				k.experiments = append(k.experiments, e)
			}
		}
		if len(k.experiments) > 0 {
			chosen.tables = append(chosen.tables, k)
		}
	}
	return chosen
}
