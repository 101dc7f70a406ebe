package measured

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// A folder that is none of tables is given up, wherever the many are.
func TestFoldersAreBounded(t *testing.T) {
	for _, deep := range []string{"", "a/b/c/d/"} {
		dir := fstest.MapFS{}
		for i := range maxEntries + 1 {
			dir[fmt.Sprintf("%s%d", deep, i)] = &fstest.MapFile{}
		}
		if _, err := Select(dir, Wanted{}); err == nil ||
			!strings.Contains(err.Error(), "more than 65536 files and folders") {
			t.Errorf("%d files in %q: %v", len(dir), deep, err)
		}
	}
	many := fstest.MapFS{}
	for i := range maxFiles + 1 {
		many[fmt.Sprintf("h100__%d.csv", i)] = &fstest.MapFile{}
	}
	if _, err := Select(many, Wanted{}); err == nil ||
		!strings.Contains(err.Error(), "found 4097 tables, allowed: at most 4096") {
		t.Errorf("%d tables: %v", len(many), err)
	}
}
