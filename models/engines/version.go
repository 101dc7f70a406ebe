package engines

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version is a release of an engine, such as 0.15.1. The zero value is no version.
type Version struct {
	numbers [3]int
	text    string
}

// ParseVersion reads a version as engines and the tags of their images write it: 0.23, v0.15.1,
// 0.5.12.post1, 1.2.0rc4. What follows the third number is kept in String, and does not count when
// versions are compared: a candidate or a repaired build is taken as its release.
func ParseVersion(text string) (Version, error) {
	bare := strings.TrimPrefix(strings.TrimSpace(text), "v")
	v := Version{text: bare}
	wrong := fmt.Errorf("found version %q; want one such as 0.23 or 0.15.1", text)
	if bare == "" || len(bare) > 40 {
		return Version{}, wrong
	}
	parts := strings.SplitN(bare, ".", 4)
	for i, part := range parts[:min(len(parts), len(v.numbers))] {
		digits := len(part) - len(strings.TrimLeft(part, "0123456789"))
		n, err := strconv.Atoi(part[:digits])
		last := i == len(parts)-1 || i == len(v.numbers)-1
		if err != nil || n > 1e6 || digits < len(part) && (!last || i == 0) {
			return Version{}, wrong
		}
		v.numbers[i] = n
	}
	return v, nil
}

// String returns the version as it was written, without a leading v.
func (v Version) String() string { return v.text }

// IsZero reports whether v is no version.
func (v Version) IsZero() bool { return v.text == "" }

// Compare returns -1, 0 or 1 if v is older than w, the same release, or newer.
func (v Version) Compare(w Version) int {
	for i := range v.numbers {
		if c := cmp.Compare(v.numbers[i], w.numbers[i]); c != 0 {
			return c
		}
	}
	return 0
}

// UnmarshalText reads a version in a data file.
func (v *Version) UnmarshalText(text []byte) (err error) {
	*v, err = ParseVersion(string(text))
	return err
}

// MarshalText writes a version as UnmarshalText reads it.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.text), nil }

// Range is the versions from From on, and before Below. A bound that is left out does not bind.
type Range struct {
	From  Version `yaml:"from"`
	Below Version `yaml:"below"`
}

// Has reports whether v is in the range.
func (r Range) Has(v Version) bool {
	return (r.From.IsZero() || v.Compare(r.From) >= 0) &&
		(r.Below.IsZero() || v.Compare(r.Below) < 0)
}

// String describes the range for people.
func (r Range) String() string {
	switch {
	case r.From.IsZero() && r.Below.IsZero():
		return "all versions"
	case r.From.IsZero():
		return "before " + r.Below.String()
	case r.Below.IsZero():
		return "from " + r.From.String()
	}
	return "from " + r.From.String() + ", before " + r.Below.String()
}
