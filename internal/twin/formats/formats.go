// Package formats reads what operators of LLM servers have: results of load generators, logs,
// metrics and traces. Each reader is one file. A reader keeps no text of a prompt.
//
// Fields, units, buckets and versions follow the programs named at each reader.
package formats

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/twin/observed"
)

// reader is a format.
type reader struct {
	name string
	// fits reports whether a file has the format, by its contents.
	fits func(data []byte) bool
	read func(in *input) error
}

// readers lists the formats. The first that fits is taken.
func readers() []reader {
	list, all := jsonReaders(), sync.OnceValue(shapes)
	begins := func(format string) func(data []byte) bool {
		return func(data []byte) bool { return begins(all(), format, data) }
	}
	return append(list,
		reader{"printed-table", fitsPrinted, readPrinted},
		reader{"trtllm-overview", begins("trtllm-overview"), readOverview},
		reader{"guidellm-console", begins("guidellm-console"), readGuideConsole},
		reader{"aiperf-console", begins("aiperf-console"), readAIPerfConsole},
		reader{"llmperf-console", begins("llmperf-console"), readLLMPerfConsole},
		reader{"llama-bench", fitsLlamaBench, readLlamaBench},
		reader{"llama-timings", begins("llama-timings"), readTimings},
		reader{"throughput-line", begins("throughput-line"), readThroughputLine},
		reader{"table", func(data []byte) bool {
			return begins("table")(data) && hasFigures(data)
		}, readTable},
		reader{"sglang-decode-log", fitsDecodeLog, readDecodeLog},
		reader{"vllm-iterations", fitsIterations, readIterations},
		reader{"vllm-log", fitsLog, readLog},
		reader{"metrics", fitsMetrics, readMetrics},
		reader{"llm-d-report", fitsReport, readReport},
		reader{"langfuse", fitsLangfuse, readLangfuse},
		reader{"csv", fitsCSV, readCSV},
	)
}

// Names returns the names of the formats.
func Names() []string {
	var names []string
	for _, r := range readers() {
		names = append(names, r.name)
	}
	return names
}

// Read reads a file, or all files of a folder and its folders. Files of unknown formats are an
// error that names the formats.
func Read(fsys fs.FS, path string, o Options) (*observed.Observed, error) {
	info, err := fs.Stat(fsys, path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return readFolder(fsys, path, o)
	}
	data, err := files.Read(fsys, path, mostBytes)
	if err != nil {
		return nil, err
	}
	return Parse(filepath.Base(path), data, o)
}

// Parse reads the contents of a file.
func Parse(name string, data []byte, o Options) (*observed.Observed, error) {
	data, err := unpacked(name, data)
	if err != nil {
		return nil, err
	}
	switch data = bytes.TrimPrefix(data, []byte("\ufeff")); {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, fmt.Errorf("%s: found an empty file", name)
	case bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")):
		return nil, fmt.Errorf("%s: found text in UTF-16, want UTF-8: save it anew", name)
	}
	r, err := find(name, data, o.Format)
	if err != nil {
		return nil, err
	}
	out := &observed.Observed{Sources: []observed.Source{{File: name, Format: r.name}}}
	in := &input{name, data, &o, out, &out.Sources[0]}
	if err := r.read(in); err != nil {
		return nil, err
	}
	for i := range out.Runs {
		run := &out.Runs[i]
		if n := run.BeginsAnew(); n > 0 {
			return nil, in.errorf("run %s: found arrivals that begin anew with request %d of %d: "+
				"are they two runs, or of two servers? want each in a file of its own; one run of "+
				"several clients in order of arrival", run.Name, n+1, len(run.Requests))
		}
		if run.Arrange() {
			in.addNote("%s: requests are sent as answers end, at most %d in flight: a closed loop",
				run.Name, run.Load.Concurrency)
		}
		if _, n := countFailed(run.Requests); n > 0 {
			in.addNote("%s: %d of %d requests ended without a token: their prompts stay in the "+
				"load, and their times are not compared", run.Name, n, len(run.Requests))
		}
		if run.Idle() {
			in.addNote("%s: the server had nothing to do most of the time, so that little is "+
				"learnt of loads: is the unit of the arrivals another one?", run.Name)
		}
		if n := len(run.Requests) + len(run.Steps) + len(run.Intervals); n > mostEntries {
			return nil, in.errorf("found %d entries, allowed: %d", n, mostEntries)
		}
	}
	if err := out.Check(); err != nil {
		return nil, in.errorf("%w", err)
	}
	for i := range out.Runs {
		if err := out.Runs[i].CheckRequests(); err != nil {
			return nil, in.errorf("%w", err)
		}
	}
	in.source.Server = out.Server
	return out, nil
}

// unpacked returns what a gzip file contains, and other data as they are.
func unpacked(name string, data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: in the first line: %w", name, files.Damage(err))
	}
	out, err := io.ReadAll(files.Limit(z, name, mostBytes))
	if damage := files.Damage(err); damage != err {
		return nil, fmt.Errorf("%s: after line %d: %w", name, bytes.Count(out, []byte("\n")),
			damage)
	}
	return out, err
}

// find returns the reader with the given name, or the first that fits.
func find(name string, data []byte, format string) (reader, error) {
	if why := refused(data); why != "" {
		return reader{}, fmt.Errorf("%s: %s", name, why)
	}
	for _, r := range readers() {
		if r.name == format || format == "" && r.fits(data) {
			return r, nil
		}
	}
	if format != "" {
		return reader{}, errors.New(nearest.Unknown("format", format, Names()))
	}
	head, _, _ := bytes.Cut(data, []byte("\n"))
	return reader{}, fmt.Errorf("%s: found no known format in what begins with %.60q, allowed: %s",
		name, head, strings.Join(Names(), ", "))
}

// readFolder reads the files of a folder, and joins scrapes of metrics over time.
func readFolder(fsys fs.FS, path string, o Options) (*observed.Observed, error) {
	all := &observed.Observed{}
	var pages []page
	count := 0
	err := fs.WalkDir(files.Folder(fsys, path), ".", func(name string, entry fs.DirEntry,
		err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if count++; count > mostFiles {
			return fmt.Errorf("%s: found more than %d files, which is the most that is read of a "+
				"folder", path, mostFiles)
		}
		data, err := files.Read(fsys, filepath.Join(path, name), mostBytes)
		if err != nil {
			return err
		}
		if o.Format == "" && sweepSummary(name, data) {
			return nil // repeats the runs beside it
		}
		if (o.Format == "" || o.Format == "metrics") && fitsMetrics(data) {
			p, err := parsePage(name, data)
			pages = append(pages, p)
			return err
		}
		one, err := Parse(name, data, o)
		if err == nil {
			all.Add(one)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(pages) > 0 {
		one, err := joinPages(path, pages)
		if err != nil {
			return nil, err
		}
		all.Add(one)
	}
	if len(all.Sources) == 0 {
		return nil, fmt.Errorf("%s: found no files", path)
	}
	return all, nil
}

// mostFiles bounds the files of a folder.
const mostFiles = 10_000
