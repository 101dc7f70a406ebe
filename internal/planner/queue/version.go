package queue

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/llmsim/llmsim/scenarios"
)

// identity names the version of the program, in letters that a NATS subject can have. What was
// built from changed or unknown sources is distinguished by a hash of the program.
func (c *Config) identity() (string, error) {
	if c.version != "" {
		return c.version, nil
	}
	version := scenarios.Version()
	if strings.HasPrefix(version, "devel") || strings.Contains(version, "dirty") ||
		version == "unknown" {
		path, err := os.Executable()
		if err != nil {
			return "", err
		}
		sum, err := scenarios.HashFile(path)
		if err != nil {
			return "", err
		}
		version += "-" + sum[:12]
	}
	return strings.NewReplacer(".", "_", "+", "-", " ", "-", "*", "-", ">", "-", "/", "-", "\\",
		"-").Replace(version), nil
}

// warnOfVersions logs, until ctx is done, once for each other version whose tasks wait for workers:
// results of another version may differ, so this one leaves them alone.
func (s *store) warnOfVersions(ctx context.Context, log func(string)) {
	named := map[string]bool{}
	for {
		if stream, err := s.js.Stream(ctx, streamName); err == nil {
			for info := range stream.ListConsumers(ctx).Info() {
				other := strings.TrimPrefix(info.Name, consumerName)
				if other == s.version || named[other] || info.NumPending == 0 ||
					info.NumWaiting > 0 {
					continue
				}
				named[other] = true
				log(fmt.Sprintf(
					"refusing %d tasks of llmsim %.100s: this is llmsim %s, and results may "+
						"differ; start workers of that version, or plan with this one",
					info.NumPending, other, s.version))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Second):
		}
	}
}
