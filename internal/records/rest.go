package records

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Limits of runs/log-batch (MLflow's REST API, "Log Batch").
const (
	mostMetrics = 1000
	mostParams  = 100
	mostTags    = 100
	mostAnswer  = 16 << 20
)

// tracker is a server of MLflow.
type tracker struct {
	base   string
	client *http.Client
}

// SendMLflow sends records to an MLflow server by its REST API 2.0, as runs of an experiment that
// is made if needed. A record that the experiment has already is not sent again.
func SendMLflow(ctx context.Context, server, name string, entries []Entry) (sent int, err error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return 0, fmt.Errorf("%q is no address of a server; want http://host:port", server)
	}
	t := &tracker{strings.TrimSuffix(server, "/") + "/api/2.0/mlflow/",
		&http.Client{Timeout: 30 * time.Second}}
	id, err := t.experiment(ctx, name)
	if err != nil {
		return 0, err
	}
	for i := range entries {
		run, err := track(&entries[i])
		if err != nil {
			return sent, err
		}
		has, err := t.has(ctx, id, entries[i].ID)
		if err != nil {
			return sent, err
		}
		if has {
			continue
		}
		if err := t.send(ctx, id, run); err != nil {
			return sent, err
		}
		sent++
	}
	return sent, nil
}

// refusal is an error that the server answers.
type refusal struct {
	Code    string `json:"error_code"`
	Message string `json:"message"`
}

func (r refusal) Error() string { return r.Code + ": " + r.Message }

// call sends a request, with a body where there is one, and reads the answer.
func (t *tracker) call(ctx context.Context, method, path string, body, answer any) error {
	var data io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		data = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, t.base+path, data)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := t.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		var r refusal
		if json.Unmarshal(text, &r) == nil && r.Code != "" {
			return r
		}
		return fmt.Errorf("%s answers %s", t.base+path, response.Status)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

// experiment returns the number of an experiment.
func (t *tracker) experiment(ctx context.Context, name string) (string, error) {
	var found struct {
		Experiment struct {
			ID string `json:"experiment_id"`
		} `json:"experiment"`
	}
	err := t.call(ctx, http.MethodGet, "experiments/get-by-name?experiment_name="+
		url.QueryEscape(name), nil, &found)
	if err == nil {
		return found.Experiment.ID, nil
	}
	var r refusal
	if !errors.As(err, &r) || r.Code != "RESOURCE_DOES_NOT_EXIST" {
		return "", err
	}
	var made struct {
		ID string `json:"experiment_id"`
	}
	err = t.call(ctx, http.MethodPost, "experiments/create", map[string]string{"name": name}, &made)
	return made.ID, err
}

// has reports whether an experiment has a record.
func (t *tracker) has(ctx context.Context, experiment, id string) (bool, error) {
	var found struct {
		Runs []json.RawMessage `json:"runs"`
	}
	err := t.call(ctx, http.MethodPost, "runs/search", map[string]any{
		"experiment_ids": []string{experiment}, "max_results": 1,
		"filter": "tags.`llmsim.id` = '" + id + "'"}, &found)
	return len(found.Runs) > 0, err
}

type pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

type measure struct {
	Key       string  `json:"key"`
	Value     float64 `json:"value"`
	Timestamp int64   `json:"timestamp"`
	Step      int64   `json:"step"`
}

// send makes a run with its metrics, parameters and tags, and ends it.
func (t *tracker) send(ctx context.Context, experiment string, run *tracked) error {
	var made struct {
		Run struct {
			Info struct {
				ID string `json:"run_id"`
			} `json:"info"`
		} `json:"run"`
	}
	err := t.call(ctx, http.MethodPost, "runs/create", map[string]any{
		"experiment_id": experiment, "run_name": run.Name, "start_time": run.Start}, &made)
	if err != nil {
		return err
	}
	id := made.Run.Info.ID
	for _, batch := range run.batches() {
		batch["run_id"] = id
		if err := t.call(ctx, http.MethodPost, "runs/log-batch", batch, nil); err != nil {
			return err
		}
	}
	return t.call(ctx, http.MethodPost, "runs/update", map[string]any{"run_id": id,
		"status": "FINISHED", "end_time": run.Start}, nil)
}

// batches cuts what a run has into requests within the limits of one.
func (t *tracked) batches() []map[string]any {
	var metrics []measure
	for _, key := range keys(t.Metrics, nil) {
		metrics = append(metrics, measure{key, t.Metrics[key], t.Start, 0})
	}
	pairs := func(of map[string]string) []pair {
		var list []pair
		for _, key := range keys(of, nil) {
			list = append(list, pair{key, of[key]})
		}
		return list
	}
	var list []map[string]any
	for part := range slices.Chunk(metrics, mostMetrics) {
		list = append(list, map[string]any{"metrics": part})
	}
	for part := range slices.Chunk(pairs(t.Params), mostParams) {
		list = append(list, map[string]any{"params": part})
	}
	for part := range slices.Chunk(pairs(t.Tags), mostTags) { // last: whole runs have their name
		list = append(list, map[string]any{"tags": part})
	}
	return list
}
