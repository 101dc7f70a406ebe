package units

// ParseBytes reads an amount of bytes such as "80GiB" (2^30 bytes each) or "80GB" (1e9 bytes each).
func ParseBytes(s string) (float64, error) { return byteAmount.parse(s) }

// FormatBytes prints bytes in both families of units, as "138 GB (128.5 GiB)"; below 1000 bytes as
// "512 B".
func FormatBytes(v float64) string {
	decimal, binary := byteAmount.format(v), binaryBytes.format(v)
	if decimal == binary {
		return decimal
	}
	return decimal + " (" + binary + ")"
}
