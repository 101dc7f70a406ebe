package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/llmsim/llmsim/internal/files"
)

// Cost is a process's CPU time on all processors in seconds, and the most memory that it
// had at once in bytes, 0 where the system does not tell.
type Cost struct {
	Seconds float64
	Memory  int64
}

// run runs the case in a process of its own with the given program.
func run(ctx context.Context, program string, c *Case, requests int) (cost Cost, err error) {
	folder, err := os.MkdirTemp("", "llmsim-bench")
	if err != nil {
		return Cost{}, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "bench.yaml")
	if err := files.WriteBytes(file, []byte(scenario), 0o600); err != nil {
		return Cost{}, err
	}
	cmd := exec.CommandContext(ctx, program,
		c.arguments(requests, file, filepath.Join(folder, "out"))...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1") // a second one makes it quicker, but not cheaper
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return Cost{}, ctx.Err()
		}
		return Cost{}, fmt.Errorf("%s: %s: %w: %s", c.Name, program, err,
			bytes.TrimSpace(stderr.Bytes()))
	}
	state := cmd.ProcessState
	return Cost{(state.UserTime() + state.SystemTime()).Seconds(), peak(state)}, nil
}
