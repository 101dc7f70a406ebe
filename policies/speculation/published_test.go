package speculation

import (
	"math"
	"slices"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
)

// Every published drafter has a model of the catalogue, a source and rates in range, which give the
// lengths that were measured.
func TestPublishedHeads(t *testing.T) {
	catalog, err := models.Load()
	testkit.OK(t, err)
	if len(models.Heads()) < 8 {
		t.Errorf("found %d heads", len(models.Heads()))
	}
	for i := range models.Heads() {
		h := &models.Heads()[i]
		a, err := catalog.Lookup(h.Model)
		testkit.OK(t, err)
		rates, err := Published(h)
		testkit.OK(t, err)
		if a.Name != h.Model || h.Source == "" || h.Texts == "" || h.Vocabulary > a.Vocab ||
			(h.Rates == "") == (h.Lengths == "") || !slices.Contains([]string{"eagle", "mtp"},
			h.Method) || slices.Min(rates) <= 0 || slices.Max(rates) > 1 {
			t.Errorf("%+v: %v", h, rates)
		}
		if found, err := models.FindHead(h.Name); err != nil || found != h ||
			!slices.Contains(models.HeadsOf(h.Model, h.Method), h.Name) {
			t.Errorf("%s is not found: %v", h.Name, err)
		}
	}
}

// Rates give the published lengths back; equal ones follow from Leviathan's formula.
func TestRatesGivePublishedLengths(t *testing.T) {
	h := models.Head{Name: "a", Lengths: "1:1.78 2:2.38 5:3.1"}
	rates, err := Published(&h)
	testkit.OK(t, err)
	length, chance := 1.0, 1.0
	for k, rate := range rates {
		chance *= rate
		length += chance
		if want := map[int]float64{0: 1.78, 1: 2.38, 4: 3.1}[k]; want > 0 &&
			math.Abs(length-want) > 1e-9 {
			t.Errorf("%d drafted tokens give %g, want %g", k+1, length, want)
		}
	}
	h.Lengths = "7:3.2"
	rates, err = Published(&h)
	testkit.OK(t, err)
	if got := ExpectedTokens(rates[0], 7); len(rates) != 7 || math.Abs(got-3.2) > 1e-9 {
		t.Errorf("%v give %g", rates, got)
	}
	for _, bad := range []models.Head{{Lengths: "1:2.1"}, {Lengths: "2:1.5 2:1.6"}, {Rates: "1.1"},
		{Lengths: "1:1.5 2:1.4"}, {Lengths: "x:2"}, {Lengths: "1:1.5 2:2.6"}} {
		if rates, err := Published(&bad); err == nil {
			t.Errorf("%+v gives %v", bad, rates)
		}
	}
}
