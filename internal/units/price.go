package units

import "strings"

// ParsePrice reads a price an hour as "$1.79/h" or "1.79$/h", and returns US dollars an hour.
func ParsePrice(s string) (float64, error) {
	text := strings.TrimSpace(s)
	if amount, ok := strings.CutPrefix(text, "$"); ok {
		if number, isHourly := strings.CutSuffix(amount, "/h"); isHourly {
			text = number + "$/h"
		}
	}
	return hourlyPrice.parse(text)
}

// FormatPrice prints a price an hour as "$1.79/h".
func FormatPrice(v float64, c Currency) string {
	number, _ := hourlyPrice.pick(v)
	return c.Format(number) + "/h"
}
