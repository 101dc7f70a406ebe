package models

import (
	"testing"
)

func TestPrintCatalog(t *testing.T) {
	files, _ := catalogFiles.ReadDir("catalog")
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, _ := catalogFiles.ReadFile("catalog/" + f.Name())
		es, err := parseEntries(data)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range es {
			a, err := c.Lookup(e.Name)
			if err != nil {
				t.Fatal(err)
			}
			p := a.Parameters()
			diff := e.Published.Parameters - e.Published.Beyond - p.Total()
			t.Logf("%-20s %15d active %14d diff %d  %+v", e.Name, p.Total(), a.ActiveParameters().Total(), diff, a.Window)
		}
	}
}
