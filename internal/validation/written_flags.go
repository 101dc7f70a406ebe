package validation

import (
	"cmp"
	"regexp"
	"strings"
)

var longFlag = regexp.MustCompile(`--([\w-]+)(?:[ =]([^-\s]\S*))?`)

// writtenFlags adds the flags of a server that a text names, with their values, "true" where it has
// none: as in a command, or as name=value or name value, separated by ";" or ",".
func writtenFlags(flags map[string]string, text string) {
	for _, m := range longFlag.FindAllStringSubmatch(text, -1) {
		flags[m[1]] = cmp.Or(m[2], "true")
	}
	if strings.Contains(text, "--") {
		return
	}
	ends := func(c rune) bool { return c == ';' || c == ',' }
	for _, flag := range strings.FieldsFunc(text, ends) {
		flag = strings.TrimSpace(flag)
		if end := strings.IndexAny(flag, "= "); end > 0 {
			flags[flag[:end]] = flag[end+1:]
		} else {
			flags[flag] = "true"
		}
	}
}
