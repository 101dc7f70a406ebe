package hardware

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"sync"

	_ "embed" // the table of prices
)

//go:embed catalog/prices.csv
var priceTable []byte

//go:embed catalog/stores.csv
var storeTable []byte

// Listing is what one accelerator with its share of the host costs an hour with a provider, or a
// GiB of a store of KV caches, whose name is then that of the Accelerator.
type Listing struct {
	Accelerator string
	// Price is in units of Currency an hour. The catalogue has US dollars only.
	Price    float64
	Currency string
	// Term is on-demand or owned. Provider and Region are empty where the source names none.
	Term, Provider, Region string
	// Date is a year or a month, such as 2026-03; Source names where the price is from.
	Date, Source string
}

// Listings returns the table of prices of the catalogue. Of several rows of an accelerator, the
// first is the price of its entry. All calls return the same rows, so do not change them.
func Listings() ([]Listing, error) { return listings() }

// listings reads the table of the program once, since it never changes.
var listings = sync.OnceValues(func() ([]Listing, error) {
	return readListings("hardware/catalog/prices.csv", priceTable)
})

// StorePrice returns what a GiB of a store of KV caches costs: host (host memory), nvme (a disk) or
// pool (memory of other machines).
func StorePrice(store string) (Listing, error) {
	list, err := readListings("hardware/catalog/stores.csv", storeTable)
	if err != nil {
		return Listing{}, err
	}
	for _, l := range list {
		if l.Accelerator == store {
			return l, nil
		}
	}
	return Listing{}, fmt.Errorf("no price of %s is listed", store)
}

func readListings(name string, table []byte) ([]Listing, error) {
	r := csv.NewReader(bytes.NewReader(table))
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	list := make([]Listing, 0, len(rows))
	for _, row := range rows[1:] {
		price, err := strconv.ParseFloat(row[1], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, row[0], err)
		}
		list = append(list, Listing{Accelerator: row[0], Price: price, Currency: row[2],
			Term: row[3], Provider: row[4], Region: row[5], Date: row[6], Source: row[7]})
	}
	return list, nil
}
