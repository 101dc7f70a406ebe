// Package measured reads tables of single kernels as ai-dynamo/aiconfigurator publishes them:
// CSV files GPU/FAMILY/ENGINE/VERSION/NAME.csv, or GPU__NAME.csv. It finds the tables and reads
// their rows, and does not interpret them. The published files are Parquet; the module
// tests/kernels converts a folder of them.
//
// The files come from outside. A Folder reads no more of them than its limits allow, and an error
// in a file names the file.
package measured

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Wanted says which of a folder's tables are of interest.
type Wanted struct {
	// Accelerator lists the names of the accelerator; case, "-" and "_" do not matter.
	Accelerator []string
	// Engine is the family of the engine: "vllm", "sglang" or "trtllm". If it is empty or has no
	// table, the table of another engine is taken.
	Engine string
	// Version is the version of the engine; empty means the newest that each table has.
	Version string
}

// Table is one table of a folder.
type Table struct {
	// Name is the name of the measured kernels: "gemm", "context_attention", "moe", …
	Name string
	// Engine and Version belong to the kernels; empty for CSV files, which do not name them.
	Engine, Version string
	// Path is the file within the folder.
	Path string
	// Instead says what was wanted if the table belongs to another engine or version; else it is
	// empty.
	Instead string
}

// String describes the table and its source, for people.
func (t Table) String() string {
	if t.Engine == "" {
		return t.Path
	}
	return t.Name + " of " + t.Engine + " " + t.Version
}

// Select returns the wanted tables of a folder, one of each name, in order of their names. An error
// lists what there is.
func Select(dir fs.FS, w Wanted) ([]Table, error) {
	if deep, err := list(dir, 4, "*.csv"); err != nil {
		return nil, err
	} else if len(deep) > 0 {
		return choose(deep, w)
	}
	if err := refuseParquet(dir); err != nil {
		return nil, err
	}
	files, err := list(dir, 0, "*__*.csv")
	if err != nil {
		return nil, err
	}
	gpu, err := accelerator(files, "__", w)
	if err != nil {
		return nil, err
	}
	var tables []Table
	for _, f := range files {
		if prefix, name, _ := strings.Cut(strings.TrimSuffix(f, ".csv"), "__"); prefix == gpu {
			tables = append(tables, Table{Name: name, Path: f})
		}
	}
	return tables, nil
}

// Files returns the paths of all tables of a folder.
func Files(dir fs.FS) []string {
	files, err := list(dir, 4, "*.csv")
	if err == nil && len(files) == 0 {
		files, err = list(dir, 0, "*__*.csv")
	}
	if err != nil {
		return nil
	}
	return files
}

// refuseParquet returns an error where the folder has the tables as they are published.
func refuseParquet(dir fs.FS) error {
	published, err := list(dir, 4, "*.parquet")
	if err == nil && len(published) > 0 {
		err = fmt.Errorf("found %d Parquet files such as %s, want CSV: the module tests/kernels "+
			"of llmsim's repository converts them", len(published), published[0])
	}
	return err
}

// list returns the files whose names match a pattern and that are equally many folders deep.
// Folders that cannot be read are left out.
func list(dir fs.FS, depth int, pattern string) ([]string, error) {
	var files []string
	folders, seen := []string{"."}, int64(0)
	for ; depth >= 0; depth-- {
		var next []string
		for _, folder := range folders {
			entries, err := fs.ReadDir(dir, folder)
			if err != nil {
				continue
			}
			if seen += int64(len(entries)); seen > maxEntries {
				return nil, fmt.Errorf("found more than %d files and folders, "+
					"allowed: a folder of operator tables only", maxEntries)
			}
			for _, entry := range entries {
				at := path.Join(folder, entry.Name())
				if depth > 0 {
					if isFolder(dir, at, entry) {
						next = append(next, at)
					}
				} else if match, err := path.Match(pattern, entry.Name()); err == nil && match {
					files = append(files, at)
				}
			}
		}
		folders = next
	}
	return files, atMost(int64(len(files)), maxFiles, "tables")
}

// isFolder reports whether an entry is a folder, or a link to one.
func isFolder(dir fs.FS, at string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.IsDir()
	}
	info, err := fs.Stat(dir, at)
	return err == nil && info.IsDir()
}

// accelerator returns the first element of the paths that means one of the wanted names, or the
// only one.
func accelerator(files []string, separator string, w Wanted) (string, error) {
	found := map[string]bool{}
	for _, f := range files {
		gpu, _, _ := strings.Cut(f, separator)
		found[gpu] = true
	}
	names := slices.Sorted(maps.Keys(found))
	for _, name := range names {
		for _, wanted := range w.Accelerator {
			if plain(name) == plain(wanted) {
				return name, nil
			}
		}
	}
	switch len(names) {
	case 0:
		return "", errors.New("no operator tables here: want files such as GPU__gemm.csv, " +
			"or GPU/gemm/ENGINE/VERSION/gemm_perf.csv")
	case 1:
		return names[0], nil
	}
	return "", fmt.Errorf("operator tables of several accelerators (%s), and none is called %s",
		strings.Join(names, ", "), strings.Join(w.Accelerator, " or "))
}

// plain makes spellings of a name equal. A server edition has the kernels of the card.
func plain(name string) string {
	name = strings.TrimSuffix(strings.ToLower(name), "_server")
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(name)
}

// choose picks one file of each name: of the wanted engine and version where there are any.
func choose(files []string, w Wanted) ([]Table, error) {
	gpu, err := accelerator(files, "/", w)
	if err != nil {
		return nil, err
	}
	byName := map[string][]Table{}
	for _, f := range files {
		if part := strings.Split(f, "/"); part[0] == gpu {
			name := strings.TrimSuffix(path.Base(f), ".csv")
			t := Table{Name: strings.TrimSuffix(name, "_perf"), Engine: part[2],
				Version: part[3], Path: f}
			byName[t.Name] = append(byName[t.Name], t)
		}
	}
	var tables []Table
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		t := slices.MaxFunc(byName[name], func(a, b Table) int {
			return cmp.Or(cmp.Compare(w.rank(a), w.rank(b)), compareVersions(a.Version, b.Version),
				cmp.Compare(b.Path, a.Path))
		})
		t.Instead = w.missing(t)
		tables = append(tables, t)
	}
	return tables, nil
}

// rank orders tables of one name: the wanted engine and version first, then other versions of the
// engine.
func (w Wanted) rank(t Table) int {
	switch {
	case t.Engine != w.Engine:
		return 0
	case w.Version != "" && t.Version == w.Version:
		return 2
	}
	return 1
}

// missing names what was wanted and is not what t is. Libraries of collectives belong to no engine.
func (w Wanted) missing(t Table) string {
	switch {
	case w.Engine == "" || t.Engine == "nccl":
		return ""
	case t.Engine != w.Engine:
		return w.Engine
	case w.Version != "" && t.Version != w.Version:
		return w.Engine + " " + w.Version
	}
	return ""
}

// compareVersions orders versions by their numbers, so that 0.14.0 follows 0.5.14. A release
// candidate counts by its number.
func compareVersions(a, b string) int {
	return slices.Compare(numbers(a), numbers(b))
}

// numbers returns the whole numbers in a version.
func numbers(version string) []int {
	var list []int
	fields := strings.FieldsFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	for _, f := range fields {
		n, err := strconv.Atoi(f)
		if err != nil {
			n = 0 // more digits than a number has
		}
		list = append(list, n)
	}
	return list
}

// Limits on what is read from outside. ai-dynamo/aiconfigurator publishes up to 626 tables in one
// folder, and in one table 257,597 rows, 29 columns and 7.5 million values.
const (
	// maxEntries bounds the files and folders that are looked at in search of tables, so that a
	// folder such as / is soon refused.
	maxEntries = 1 << 16
	// maxFiles bounds the tables of a folder, of all accelerators.
	maxFiles = 4096
	// maxBytes bounds a file.
	maxBytes = 64 << 20
	// maxRows bounds the rows of a table.
	maxRows = 1 << 20
	// maxColumns bounds its columns.
	maxColumns = 100
	// maxValues bounds its rows times columns, since each value costs time.
	maxValues = 1 << 24
	// maxLine bounds the bytes of a line of CSV.
	maxLine = 64 << 10
)

// atMost returns an error if a file has more of something than is read.
func atMost(found, most int64, what string) error {
	if found >= 0 && found <= most {
		return nil
	}
	return fmt.Errorf("found %d %s, allowed: at most %d", found, what, most)
}
