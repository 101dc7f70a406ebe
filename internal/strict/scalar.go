package strict

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"gopkg.in/yaml.v3"
)

// scalar decodes a single value: a word, a truth value, a number, or a type that reads its own
// unit.
func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string, r rule) {
	if n.Kind != yaml.ScalarNode {
		d.fail(n, path, "found %s; want %s", describe(n), want(v.Type()))
		return
	}
	if complaint := setScalar(n.Value, v, r); complaint != "" {
		d.fail(n, path, "%s", complaint)
	}
}

// setScalar stores the text in v and describes what is wrong with it, or "".
func setScalar(text string, v reflect.Value, r rule) string {
	if complaint := checkPrintable(text); complaint != "" {
		return complaint
	}
	if unit, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if err := unit.UnmarshalText([]byte(text)); err != nil {
			return err.Error()
		}
		return checkRange(v, text, r)
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		return r.checkWord(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return "found " + quote(text) + "; want true or false"
		}
		v.SetBool(text == "true")
		return ""
	case reflect.Float64:
		x, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return "found " + quote(text) + "; want a number" + asShare(text)
		}
		v.SetFloat(x)
	default:
		if complaint := setInteger(text, v); complaint != "" {
			return complaint
		}
	}
	return checkRange(v, text, r)
}

// asShare says how a percentage is written as a share, or "".
func asShare(text string) string {
	percent, is := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
	if !is || err != nil {
		return ""
	}
	return fmt.Sprintf(": as a share, %s%% is %.6g", percent, x/100)
}

// checkPrintable refuses text with characters that would act on the terminal to which names are
// printed.
func checkPrintable(text string) string {
	acts := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
	if !strings.ContainsFunc(text, acts) {
		return ""
	}
	return "found " + quote(text) + " with a control character; want printable text"
}

// setInteger reads whole numbers, also those written like 1e6 or 1_000_000.
func setInteger(text string, v reflect.Value) string {
	complaint := "found " + quote(text) + "; want a whole number"
	plain := strings.ReplaceAll(text, "_", "")
	if v.CanUint() {
		u, err := strconv.ParseUint(plain, 10, 64)
		if err != nil || v.OverflowUint(u) {
			return complaint + " from 0"
		}
		v.SetUint(u)
		return ""
	}
	i, err := strconv.ParseInt(plain, 10, 64)
	if err != nil {
		x, err := strconv.ParseFloat(plain, 64)
		if err != nil || x != math.Trunc(x) || math.Abs(x) >= 1<<53 {
			return complaint
		}
		i = int64(x)
	}
	if v.OverflowInt(i) {
		return complaint
	}
	v.SetInt(i)
	return ""
}

// checkRange checks a number, or a unit that is a number underneath, against its rule.
func checkRange(v reflect.Value, text string, r rule) string {
	switch {
	case v.CanInt():
		return r.checkNumber(float64(v.Int()), text)
	case v.CanUint():
		return r.checkNumber(float64(v.Uint()), text)
	case v.CanFloat():
		return r.checkNumber(v.Float(), text)
	}
	if n, ok := v.Interface().(interface{ Number() float64 }); ok {
		return r.checkNumber(n.Number(), text)
	}
	return ""
}
