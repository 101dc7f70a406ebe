package units

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
)

// Currency is the code of a currency (ISO 4217). The empty code means US dollars.
type Currency string

// signs are of the currencies that have one of their own, after Unicode CLDR 46 (common/main/root
// and en). Other amounts are written with the code.
var signs = [...]struct{ code, sign string }{
	{"USD", "$"}, {"EUR", "€"}, {"GBP", "£"}, {"JPY", "¥"}, {"INR", "₹"}, {"KRW", "₩"},
}

// codes are further currencies (ISO 4217) in which clouds send bills (Google Cloud's documentation,
// billing/docs/resources/currency).
var codes = [...]string{"AED", "AUD", "BRL", "CAD", "CHF", "CLP", "CNY", "COP", "CZK", "DKK", "HKD",
	"HUF", "IDR", "ILS", "MXN", "MYR", "NOK", "NZD", "PEN", "PHP", "PLN", "RON", "SAR", "SEK",
	"SGD", "THB", "TRY", "TWD", "VND", "ZAR"}

// ParseCurrency reads the code of a currency.
func ParseCurrency(code string) (Currency, error) {
	known := slices.Clone(codes[:])
	for _, s := range signs {
		known = append(known, s.code)
	}
	slices.Sort(known)
	if !slices.Contains(known, code) {
		return "", errors.New(nearest.Unknown("currency", code, known))
	}
	if code == "USD" {
		code = ""
	}
	return Currency(code), nil
}

// Code returns the code of the currency, also of US dollars.
func (c Currency) Code() string { return cmp.Or(string(c), "USD") }

// sign returns what stands before an amount.
func (c Currency) sign() string {
	for _, s := range signs {
		if s.code == c.Code() {
			return s.sign
		}
	}
	return c.Code() + " "
}

// Unit returns what names the currency beside a number or in a heading: the sign, or the code.
func (c Currency) Unit() string { return strings.TrimSpace(c.sign()) }

// Format writes an amount with its currency: "$1.79", "-€2", "CHF 3".
func (c Currency) Format(amount string) string {
	if amount, negative := strings.CutPrefix(amount, "-"); negative {
		return "-" + c.sign() + amount
	}
	return c.sign() + amount
}

// Cents writes an amount with its currency and two decimals.
func (c Currency) Cents(x float64) string { return c.Format(strconv.FormatFloat(x, 'f', 2, 64)) }

// CutCurrency returns an amount with the sign of US dollars in place of its own currency's sign or
// code, and that currency: "2 EUR/h" is "$2/h" in EUR. A text without another currency stays as it
// is.
func CutCurrency(text string) (dollars string, c Currency, err error) {
	amount, unit, divided := strings.Cut(text, "/")
	name := strings.Trim(amount, "0123456789. ")
	code := name
	for _, s := range signs {
		if s.sign == name {
			code = s.code
		}
	}
	if len(code) != 3 || strings.ToUpper(code) != code || strings.ContainsAny(code, "0123456789.") {
		return text, "", nil
	}
	if c, err = ParseCurrency(code); err != nil || name == "$" {
		return text, "", err
	}
	amount = "$" + strings.Trim(strings.Replace(amount, name, "", 1), " ")
	if divided {
		amount += "/" + unit
	}
	return amount, c, nil
}
