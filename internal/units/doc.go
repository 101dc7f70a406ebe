// Package units reads and prints quantities that people write with their unit: "80GiB", "3.35TB/s",
// "312TFLOPS", "50ms".
//
// Parsing is strict, because a wrong guess is a wrong simulation: a number without its unit, an
// unknown unit, a unit of another kind ("80GB" where a rate is needed), a negative number, NaN and
// Inf are errors that say what was found and what is allowed. Units are case-sensitive: b is a bit,
// B is a byte; GB is 1e9 bytes, GiB is 2^30. Results are the nearest float64.
//
// Printing is for people: four significant digits of the exact value, trailing zeros dropped. What
// is printed can be parsed.
package units
