package records

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

// A test that writes in other processes starts this program anew with this variable.
const writerVariable = "RECORDS_TEST_WRITER"

func TestMain(m *testing.M) {
	if os.Getenv(writerVariable) != "" {
		write(os.Args[1], os.Args[2])
		return
	}
	testkit.Main(m)
}

// write puts records into a folder until it is killed or has put many, and prints the name of each
// once it is kept. Each second one is the same for all writers.
func write(dir, writer string) {
	s := Open(dir)
	for i := range 60 {
		r := numbered("w"+writer, i)
		if i%2 == 1 {
			r = numbered("shared", i)
		}
		id, err := s.Put(r, About{})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(id)
	}
}

// numbered is a record of its own, of some size.
func numbered(name string, i int) *Record {
	result, err := json.Marshal(map[string]any{"n": i, "list": make([]int, 5000)})
	if err != nil {
		panic(err)
	}
	return &Record{Command: "scenario", Name: name, Version: "test", Result: result}
}

// Ten processes write into one folder, and three of them are killed meanwhile: what any of them
// said was kept is there, whole, and nothing else but what they wrote.
func TestManyWritersLoseNothing(t *testing.T) {
	dir := t.TempDir()
	kept := map[string]bool{}
	var lock sync.Mutex
	var group sync.WaitGroup
	for n := range 10 {
		cmd := testkit.Command(t, os.Args[0], dir, strconv.Itoa(n))
		cmd.Env = append(os.Environ(), writerVariable+"=1")
		out, err := cmd.StdoutPipe()
		testkit.OK(t, err)
		testkit.OK(t, cmd.Start())
		group.Go(func() {
			lines := bufio.NewScanner(out)
			for said := 0; lines.Scan(); said++ {
				lock.Lock()
				kept[lines.Text()] = true
				lock.Unlock()
				if n < 3 && said == 5*(n+1) {
					if err := cmd.Process.Kill(); err != nil { // SIGKILL
						t.Error(err)
					}
				}
			}
			if err := cmd.Wait(); (err != nil) != (n < 3) {
				t.Errorf("writer %d ended with %v", n, err)
			}
		})
	}
	group.Wait()
	list, problems, err := Open(dir).List()
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	there := map[string]bool{}
	for _, e := range list {
		there[e.ID] = true
		leaves, err := e.Leaves()
		if err != nil || len(leaves) != 5001 {
			t.Errorf("%.12s has %d values: %v", e.ID, len(leaves), err)
		}
	}
	for id := range kept {
		if !there[id] {
			t.Errorf("%.12s was kept, and is not there", id)
		}
	}
	if len(list) < 7*30+30 || len(list) > 10*30+30 {
		t.Errorf("%d records, want those of seven writers that ended, and at most all", len(list))
	}
	left, err := filepath.Glob(filepath.Join(dir, ".unfinished-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
