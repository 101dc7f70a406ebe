package records

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
)

// tracked is a record as MLflow has it.
type tracked struct {
	ID, Name  string
	Start     int64 // ms
	Metrics   map[string]float64
	Params    map[string]string
	Tags      map[string]string
	Artifacts map[string][]byte
}

const (
	// mostParam is the longest value of a parameter that MLflow takes (mlflow/utils/validation.py:
	// MAX_PARAM_VAL_LENGTH).
	mostParam = 6000
	// mostKey is the longest name of a metric, parameter or tag (MAX_ENTITY_KEY_LENGTH).
	mostKey = 250
)

// unusual is what MLflow refuses in names (mlflow/utils/validation.py).
var unusual = regexp.MustCompile(`[^A-Za-z0-9_\-./ ]`)

// trackedKey returns a name that MLflow takes.
func trackedKey(key string) string {
	key = unusual.ReplaceAllString(key, "_")
	if len(key) > mostKey {
		key = key[:mostKey]
	}
	return strings.Trim(key, "./ ")
}

// track returns a record as MLflow has it: figures are metrics, settings parameters.
func track(e *Entry) (*tracked, error) {
	sum := md5.Sum([]byte(e.ID)) // names of runs have 32 digits
	t := &tracked{ID: hex.EncodeToString(sum[:]), Name: e.Name, Start: e.Written.UnixMilli(),
		Metrics: map[string]float64{}, Params: map[string]string{}, Tags: map[string]string{
			"mlflow.runName": e.Name, "mlflow.source.name": "llmsim " + e.Command,
			"mlflow.source.type": "LOCAL", "llmsim.id": e.ID, "llmsim.version": e.Version}}
	figures, err := e.Figures()
	if err != nil {
		return nil, err
	}
	for key, f := range figures {
		t.Metrics[trackedKey(key)] = f
	}
	settings, err := e.Settings()
	if err != nil {
		return nil, err
	}
	for key, value := range settings {
		if len(value) > mostParam {
			value = value[:mostParam]
		}
		t.Params[trackedKey(key)] = value
	}
	for _, tag := range e.Tags {
		t.Tags["llmsim.tag."+tag] = "true"
	}
	data, _, err := e.encode()
	t.Artifacts = map[string][]byte{"record.json": data}
	return t, err
}

// experiment is the number under which MLflow's file store has our runs.
const experiment = "611771926"

// WriteMLflow writes records into a folder in the layout of MLflow's file store (mlruns), which
// `mlflow ui --backend-store-uri DIR` reads: a folder for the experiment, in it one for each run,
// with a file for each metric, parameter and tag (mlflow/store/tracking/file_store.py).
func WriteMLflow(dir string, entries []Entry) error {
	home := filepath.Join(dir, experiment)
	meta := [][2]string{{"artifact_location", "mlflow-artifacts:/" + experiment},
		{"creation_time", "0"}, {"experiment_id", quoted(experiment)}, {"last_update_time", "0"},
		{"lifecycle_stage", "active"}, {"name", "llmsim"}}
	if err := writeMeta(filepath.Join(home, "meta.yaml"), meta); err != nil {
		return err
	}
	for i := range entries {
		t, err := track(&entries[i])
		if err != nil {
			return err
		}
		if err := t.write(filepath.Join(home, t.ID)); err != nil {
			return err
		}
	}
	return nil
}

// quoted returns a text as YAML and JSON have it.
func quoted(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // a text can be written
	}
	return string(data)
}

// writeMeta writes a meta.yaml.
func writeMeta(path string, values [][2]string) error {
	return files.Write(path, func(w io.Writer) error {
		for _, v := range values {
			if _, err := fmt.Fprintf(w, "%s: %s\n", v[0], v[1]); err != nil {
				return err
			}
		}
		return nil
	})
}

// write writes a run.
func (t *tracked) write(dir string) error {
	start := strconv.FormatInt(t.Start, 10)
	all := map[string]string{}
	for key, f := range t.Metrics {
		all["metrics/"+key] = fmt.Sprintf("%s %s 0\n", start, strconv.FormatFloat(f, 'g', -1, 64))
	}
	for key, value := range t.Params {
		all["params/"+key] = value
	}
	for key, value := range t.Tags {
		all["tags/"+key] = value
	}
	for name, data := range t.Artifacts {
		all["artifacts/"+name] = string(data)
	}
	for _, name := range keys(all, nil) {
		err := files.Write(filepath.Join(dir, filepath.FromSlash(name)), func(w io.Writer) error {
			_, err := io.WriteString(w, all[name])
			return err
		})
		if err != nil {
			return err
		}
	}
	return writeMeta(filepath.Join(dir, "meta.yaml"), [][2]string{
		{"artifact_uri", quoted("mlflow-artifacts:/" + experiment + "/" + t.ID + "/artifacts")},
		{"end_time", start}, {"entry_point_name", `""`}, {"experiment_id", quoted(experiment)},
		{"lifecycle_stage", "active"}, {"run_id", t.ID}, {"run_name", quoted(t.Name)},
		{"run_uuid", t.ID}, {"source_name", `""`}, {"source_type", "4"},
		{"source_version", `""`}, {"start_time", start}, {"status", "3"}, {"tags", "[]"},
		{"user_id", `""`}})
}
