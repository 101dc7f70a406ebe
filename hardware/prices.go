package hardware

import (
	"fmt"
	"sync"

	_ "embed" // the table of prices

	"github.com/llmsim/llmsim/internal/files"
)

//go:embed catalog/prices.csv
var priceTable []byte

//go:embed catalog/stores.csv
var storeTable []byte

// Listing is a provider's hourly price of one accelerator with its share of the host, or of a
// GiB of a store of KV caches, which Accelerator then names.
type Listing struct {
	Accelerator string `csv:"accelerator"`
	// Price is in units of Currency an hour. The catalogue has US dollars only.
	Price    float64 `csv:"price"`
	Currency string  `csv:"currency"`
	// Term is on-demand or owned. Provider and Region are empty where the source does not name
	// them.
	Term     string `csv:"term"`
	Provider string `csv:"provider"`
	Region   string `csv:"region"`
	// Date is a year or a month, such as 2026-03; Source names where the price is from.
	Date   string `csv:"date"`
	Source string `csv:"source"`
}

// Listings returns the table of prices of the catalogue. Of several rows of an accelerator, the
// first is the price of its entry. All calls return the same rows, so do not change them.
func Listings() ([]Listing, error) { return listings() }

// listings reads the table of the program once, since it never changes.
var listings = sync.OnceValues(func() ([]Listing, error) {
	return files.ReadTable[Listing]("hardware/catalog/prices.csv", priceTable)
})

// StorePrice returns what a GiB of a store of KV caches costs: host (host memory), nvme (a disk) or
// pool (memory of other machines).
func StorePrice(store string) (Listing, error) {
	list, err := files.ReadTable[Listing]("hardware/catalog/stores.csv", storeTable)
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
