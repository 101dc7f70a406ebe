package formats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/twin/observed"
)

// Scrape says what is read.
type Scrape struct {
	// Address is the server's, or Prometheus's.
	Address    string
	Prometheus bool
	// Selector chooses series of Prometheus by their labels, such as job="vllm".
	Selector string
	// For is the length of the time, Every the time between pages.
	For, Every time.Duration
}

// mostPages bounds the pages of a run, mostScraped the size of one.
const (
	mostPages   = 11_000 // the most that Prometheus gives in an answer
	mostScraped = 32 << 20
)

// Run reads until the time is over, or ctx is done.
func (c *Scrape) Run(ctx context.Context) (*observed.Observed, error) {
	u, err := url.Parse(c.Address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("the address: found %q, allowed: http://host:port or "+
			"https://host:port", c.Address)
	case c.Every <= 0 || c.For < c.Every || c.For/c.Every > mostPages:
		return nil, fmt.Errorf("found %v every %v, allowed: 1 to %d pages", c.For, c.Every,
			mostPages)
	case c.Prometheus:
		return c.ask(ctx, u)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/metrics"
	}
	return c.watch(ctx, u)
}

// watch reads the server's page at each tick.
func (c *Scrape) watch(ctx context.Context, u *url.URL) (*observed.Observed, error) {
	ticker := time.NewTicker(c.Every)
	defer ticker.Stop()
	var pages []Page
	for n := 0; ; n++ {
		data, err := get(ctx, u.String())
		if err != nil {
			return nil, err
		}
		now := float64(time.Now().UnixMilli()) / 1000
		pages = append(pages, Page{At: now, Text: data})
		if n >= int(c.For/c.Every) {
			return Join(u.Host, pages)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// series are the metrics that the fit uses, of all engines and versions.
const series = `(vllm:|sglang:|trtllm_)(time_to_first_token_seconds|inter_token_latency_seconds|` +
	`time_per_output_token_seconds|e2e_request_latency_seconds|request_queue_time_seconds|` +
	`prompt_tokens|generation_tokens|prefix_cache_hits|gpu_prefix_cache_hits|cached_tokens|` +
	`prompt_tokens_cached|num_requests_running|num_requests_waiting|num_running_reqs|` +
	`num_queue_reqs|cache_config_info|max_total_num_tokens)(_sum|_count|_total)?`

// ask reads from Prometheus what it has of the last time.
func (c *Scrape) ask(ctx context.Context, u *url.URL) (*observed.Observed, error) {
	now := time.Now()
	selector := strings.Trim(strings.TrimSpace(c.Selector), "{}")
	if selector != "" {
		selector = "," + selector
	}
	u = u.JoinPath("api/v1/query_range")
	u.RawQuery = url.Values{"query": {fmt.Sprintf(`{__name__=~"%s"%s}`, series, selector)},
		"start": {strconv.FormatInt(now.Add(-c.For).Unix(), 10)},
		"end":   {strconv.FormatInt(now.Unix(), 10)},
		"step":  {strconv.FormatFloat(c.Every.Seconds(), 'f', -1, 64)}}.Encode()
	data, err := get(ctx, u.String())
	if err != nil {
		return nil, err
	}
	return Parse(u.Host, data, Options{Format: "prometheus-api"})
}

// get returns the body of an answer.
func get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{Timeout: 30 * time.Second}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, errors.New(address + " answered " + answer.Status)
	}
	return io.ReadAll(files.Limit(answer.Body, address, mostScraped))
}
