package asked

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// priced reads a price file with the given contents.
func priced(t testing.TB, name, text string) (*PriceList, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	testkit.OK(t, os.WriteFile(path, []byte(text), 0o666))
	return readPrices(path)
}

// A table has the same offers as the YAML file that says the same; spreadsheets begin it with a
// byte order mark.
func TestTableOfPrices(t *testing.T) {
	table, err := priced(t, "prices.CSV", "\ufeff"+`# our prices
accelerator,provider,term,price,currency,date,source,interruptions,return,purchase,years,draw,electricity
h100-sxm,acme,on-demand,$3/h,USD,2026-11-01,"a letter: ""net""",,,,,,
h100-sxm,acme,spot,$1/h,,2026-11-02,a page,0.05/h,10m,,,,

l4,,owned,,,2026-10-01,an invoice,,,$3000,4,150W,$0.2/kWh
`)
	testkit.OK(t, err)
	file, err := priced(t, "prices.yaml", `
offers:
- {accelerator: h100-sxm, provider: acme, term: on-demand, price: $3/h, currency: USD, date: 2026-11-01, source: 'a letter: "net"'}
- {accelerator: h100-sxm, provider: acme, term: spot, price: $1/h, date: 2026-11-02, source: a page, interruptions: 0.05/h, return: 10m}
- {accelerator: l4, term: owned, date: 2026-10-01, source: an invoice, purchase: $3000, years: 4, draw: 150W, electricity: $0.2/kWh}
`)
	testkit.OK(t, err)
	if !reflect.DeepEqual(table, file) {
		t.Errorf("the table has %+v, the file %+v", table, file)
	}
	// $3000 over 4 × 8766 hours, and 0.15 kW at $0.2 a kWh.
	if got, want := table.Offers[2].Price.Amount, 3000/35064.0+0.03; math.Abs(got-want) > 1e-12 {
		t.Errorf("an owned accelerator costs $%g an hour, want %g", got, want)
	}
	if got, want := table.words("p.csv"), "p.csv of 2026-10-01 to 2026-11-02"; got != want {
		t.Errorf("the table is called %q, want %q", got, want)
	}
}

// A file has one currency. Prices in another are converted at the rate that the file gives, which
// their source names, and refused without a rate.
func TestOneCurrency(t *testing.T) {
	const offers = `
date: 2026-11-01
offers:
- {accelerator: h100-sxm, price: 2.5 EUR/h, source: acme}
- {accelerator: l4, price: $0.5/h, source: other}
tokens: {input: €1/M, output: $2/M}
`
	_, err := priced(t, "prices.yaml", offers)
	if err == nil || !strings.Contains(err.Error(),
		":5: offers.1.price: the price is in USD, and the answer would be in EUR") ||
		!strings.Contains(err.Error(), "exchange") {
		t.Errorf("error %v", err)
	}
	list, err := priced(t, "prices.yaml", offers+
		"exchange: [{from: USD, rate: 0.8, date: 2026-11-02, source: a bank}]\n")
	testkit.OK(t, err)
	got := []scenarios.Money{scenarios.Money(list.Offers[0].Price),
		scenarios.Money(list.Offers[1].Price), scenarios.Money(list.Tokens.Input),
		scenarios.Money(list.Tokens.Output)}
	for i, want := range []float64{2.5, 0.4, 1, 1.6} {
		if got[i].Currency != "EUR" || math.Abs(got[i].Amount-want) > 1e-12 {
			t.Errorf("price %d is %s, want €%g", i, got[i].Text(), want)
		}
	}
	if got, want := list.Offers[1].PriceSource(),
		"other, converted from $0.5 at €0.8 (a bank, 2026-11-02)"; got != want {
		t.Errorf("the source is %q, want %q", got, want)
	}
	for text, want := range map[string]string{
		"currency: ERU\n": `unknown currency "ERU"; did you mean EUR`,
		"exchange: [{from: USD, rate: 0, date: 2026-11-02, source: a}]\n": "more than 0",
		"exchange: [{from: USD, rate: 1}]\n":                              "exchange.0",
	} {
		if _, err := priced(t, "p.yaml", offers+text); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", text, err, want)
		}
	}
}

// What is wrong in a table is named with its line and column.
func TestTableOfPricesRefuses(t *testing.T) {
	const head = "accelerator,price,date\n"
	for text, want := range map[string]string{
		"":                              "the table is empty",
		"\n\naccelerator,prise\nl4,1\n": `:3: unknown column "prise"; did you mean price`,
		"price,price\n":                 "given twice",
		head:                            "offers",
		head + "l4,$1/h\n":              ":2: found 2 fields; the first line names 3",
		head + "l4,1,2026-01-01\n":      ":2: offers.0.price",
		head + "\n\nl4,,2026-01-01\n":   ":4: offers.0: has no price",
		head + "l4,$1/h,\n":             "date: must be given",
		head + "l4,$1/h,today\n":        ":2: offers.0.date",
		head + "\"l\n4\",$1/h,x\n":      "want one line",
		"accelerator,price,date,currency\nl4,$1/h,2026-01-01,EUR\n": ":2: offers.0.currency",
		"accelerator,price,date,term,purchase,years,draw,electricity\n" +
			"l4,$1/h,2026-01-01,owned,$9,1,1W,$1/kWh\n": ":2: offers.0.price",
		"accelerator,price,date,term\nl4,$1/h,2026-01-01,own\n":  "did you mean owned",
		"accelerator,price,date,purchase\nl4,$1/h,2026-01-01,$5": "purchase",
		"accelerator,date,term,purchase,years,draw,electricity\n" +
			"l4,2026-01-01,owned,9,1,1W,$1/kWh\n": "$30000",
		"accelerator,date,term,purchase,years,draw,electricity\n" +
			"l4,2026-01-01,owned,$9,1,1W,$NaN/kWh\n": "$0.12/kWh",
	} {
		_, err := priced(t, "prices.csv", text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", text, err, want)
		}
	}
}

// Any table is read without a panic, and is written as YAML of no more lines, which names no
// accelerator that the table does not have.
func FuzzTableOfPrices(f *testing.F) {
	f.Add([]byte("accelerator,price,date\nl4,$1/h,2026-01-01\n"))
	f.Add([]byte("accelerator,price\n# a comment\n\n\"a}, b: {\",\"$1\"\"\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := fromCSV("prices.csv", data, offerKeys())
		if err != nil {
			return
		}
		doc, err := strict.Parse("prices.csv", text)
		if err != nil {
			return
		}
		list := new(PriceList)
		if doc.Decode(list) != nil {
			return
		}
		if n := strings.Count(string(data), "\n") + 1; len(list.Offers) > n {
			t.Errorf("%d offers of %d lines", len(list.Offers), n)
		}
		for _, o := range list.Offers {
			if plain := o.Accelerator; !strings.Contains(plain, "\"") &&
				!strings.Contains(string(data), plain) {
				t.Errorf("%q is not in the table", plain)
			}
		}
	})
}

// The price of a tier is converted like all others: the same amount at the rate of exchange, once;
// one in the plan's currency stays as it is written, and one without a rate is refused at its key.
func TestPricesOfTiersAreConverted(t *testing.T) {
	doc, err := strict.Parse("plan.yaml", []byte("menu: {}\n"))
	testkit.OK(t, err)
	p := &Plan{Currency: "EUR", exchange: []Exchange{{Rate: 0.5}}}
	list := []scenarios.KVMemory{{Price: scenarios.Price{Amount: 4}, Tiers: []scenarios.Tier{
		{Store: "hbm"}, {Store: "host", Price: "$0.04/h"}, {Store: "nvme", Price: "€0.03/h"}}}}
	for range 2 { // what is converted is in the plan's currency
		testkit.OK(t, p.convertMemory(doc, "menu.memory", list))
		m := &list[0]
		if m.Price != (scenarios.Price{Amount: 2, Currency: "EUR"}) || m.Tiers[0].Price != "" ||
			m.Tiers[1].Price != "€0.02/h" || m.Tiers[2].Price != "€0.03/h" {
			t.Errorf("%+v", *m)
		}
	}
	list[0].Tiers[2].Price = "CHF 3/h"
	if err := p.convertMemory(doc, "menu.memory", list); err == nil ||
		!strings.Contains(err.Error(), "menu.memory.0.tiers.2.price") {
		t.Errorf("a currency without a rate: %v", err)
	}
}

// Any budget or power bounds a fleet, and so does the number of all accelerators.
func TestWhatBoundsTheGreatestThroughput(t *testing.T) {
	doc, err := strict.Parse("plan.yaml", []byte("menu: {}\n"))
	testkit.OK(t, err)
	for k, c := range []struct {
		goal  Goal
		count int
		want  bool
	}{{Goal{}, 0, false}, {Goal{Budget: scenarios.Price{Amount: 0.5}}, 0, true},
		{Goal{Power: 0.5}, 0, true}, {Goal{}, 1, true}} {
		p := &Plan{Menu: Menu{Hardware: []Offer{{Accelerator: "l4", Count: c.count}}}, Goal: c.goal}
		p.Workload.Rate.Value, p.Goal.Find = 1, FindThroughput
		check := checker{Plan: p, doc: doc}
		if check.checkGoal(); (check.found == nil) != c.want {
			t.Errorf("%d: problems %v", k, check.found)
		}
	}
}

// A plan without a menu chooses among the accelerators of its price file or, without one, among all
// GPUs and TPUs with a price.
func TestMenuByDefault(t *testing.T) {
	const text = "{model: llama-3.1-8b, workload: {rate: 1/s}, slo: {ttft: 1s}"
	f, err := Parse("p.yaml", []byte(text+"}"))
	testkit.OK(t, err)
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	for i := range catalog.Accelerators {
		a := &catalog.Accelerators[i]
		listed := slices.ContainsFunc(f.Plan.Menu.Hardware,
			func(o Offer) bool { return o.Accelerator == a.Name })
		if want := a.Price > 0 && a.Kind != "cpu"; listed != want {
			t.Errorf("%s is on the menu: %t, want %t", a.Name, listed, want)
		}
	}
	path := filepath.Join(t.TempDir(), "prices.yaml")
	testkit.OK(t, os.WriteFile(path, []byte("date: 2026-11-01\nsource: a page\nprovider: acme\n"+
		"offers:\n- {accelerator: h100-sxm, price: $2/h}\n- {accelerator: h100-sxm, "+
		"term: reserved, price: $1/h}\n- {accelerator: l4, price: $1/h}\n"), 0o600))
	f, err = Parse("p.yaml", []byte(text+", prices: "+path+"}"))
	testkit.OK(t, err)
	var names []string
	for _, o := range f.Plan.Menu.Hardware {
		names = append(names, o.Accelerator+" "+o.Term)
	}
	if !slices.Equal(names, []string{"h100-sxm ", "h100-sxm reserved", "l4 "}) {
		t.Errorf("the menu of the price file is %q", names)
	}
}

// A key of scenarios in a plan is refused, and the error says where it belongs.
func TestKeysOfScenariosInPlans(t *testing.T) {
	for key, want := range map[string]string{"hardware": "menu.hardware", "parallelism": "menu",
		"batching": "menu.batching"} {
		_, err := Parse("p.yaml", []byte("model: llama-3.1-8b\n"+key+": x\n"))
		if err == nil || !strings.Contains(err.Error(), "p.yaml:2: found \""+key+
			"\", a key of scenarios; in a plan it is "+want) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
