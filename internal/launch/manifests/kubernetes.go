package manifests

import (
	"embed"
	"encoding/json"
	"io"
	"strings"
	"text/template"
)

//go:embed templates/*.yaml
var templates embed.FS

// How a replica ends: it is out of the Service for as long as an answer takes, and then has half a
// minute to end.
const (
	drain = 120
	grace = drain + 30
)

// Claim is the name of the volume with the checkpoints.
func (b *Bundle) Claim() string { return b.Name + "-models" }

// Drain and Grace are for how many seconds a replica answers what it has before it is told to end,
// and within how many it has ended.
func (b *Bundle) Drain() int { return drain }

// Grace is the longest time from the end of new requests to the end of the replica, in seconds.
func (b *Bundle) Grace() int { return grace }

// Storage is the size of the volume in GiB: the checkpoints and a fifth more, in tens.
func (b *Bundle) Storage() int64 {
	bytes := map[string]int64{}
	var sum int64
	for i := range b.Servers {
		s := &b.Servers[i]
		sum += s.Bytes - bytes[s.Model]
		bytes[s.Model] = s.Bytes
	}
	return 10 * (sum*12/10/(10<<30) + 1)
}

// Access is how pods share the volume: pods of several replicas or nodes write to it.
func (b *Bundle) Access() string {
	pods := 0
	for i := range b.Servers {
		pods += b.Servers[i].Replicas * b.Servers[i].Nodes
	}
	if pods > 1 {
		return "ReadWriteMany"
	}
	return "ReadWriteOnce"
}

// Manifests returns Kubernetes manifests: for each group a Deployment, or a LeaderWorkerSet where a
// replica spans nodes, with an autoscaler where the scenario scales it and a budget for drained
// nodes, a Service over the pods that take requests, and the claim of a volume for checkpoints.
func (b *Bundle) Manifests() (string, error) {
	all, err := parsed()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	front := &b.Servers[0]
	for i := range b.Servers {
		server := &b.Servers[i]
		kinds := []string{"deployment.yaml"}
		if server.Nodes > 1 {
			kinds[0] = "leaderworkerset.yaml"
		}
		if server.Autoscaler != nil {
			kinds = append(kinds, "autoscaler.yaml")
		}
		if server.Replicas > 1 {
			kinds = append(kinds, "disruption.yaml")
		}
		for _, kind := range kinds {
			if err := b.execute(all, &out, kind, server); err != nil {
				return "", err
			}
		}
		if front.Role == "prefill" {
			front = server
		}
	}
	for _, kind := range []string{"service.yaml", "claim.yaml"} {
		if err := b.execute(all, &out, kind, front); err != nil {
			return "", err
		}
	}
	return strings.TrimPrefix(out.String(), "---\n"), nil
}

// parsed returns the templates of all manifests.
func parsed() (*template.Template, error) {
	quote := func(v any) (string, error) {
		text, err := json.Marshal(v) // JSON is YAML
		return string(text), err
	}
	dollars := func(v any) (string, error) { // Compose reads $ as the beginning of a variable
		text, err := quote(v)
		return strings.ReplaceAll(text, "$", "$$"), err
	}
	return template.New("").Funcs(template.FuncMap{"quote": quote, "indent": indent,
		"dollars": dollars}).ParseFS(templates, "templates/*.yaml")
}

// indent returns lines that begin with n spaces, but for the first.
func indent(n int, text string) string {
	text = strings.TrimSuffix(text, "\n")
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", n))
}

// view is a group of replicas as the templates see it.
type view struct {
	*Bundle
	Server *Server
	Object string
	// Sidecar is set where llm-d's proxy stands before the engine, Transfers where KV caches come
	// from other pods or go there, by vLLM's connector.
	Sidecar, Transfers bool
	SidecarImage       string
	// Part is the part of a replica that a pod has: engine, or leader or worker of several nodes.
	Part    string
	Command []string
	all     *template.Template
}

// Fronts reports whether further groups have the role of the one that takes requests.
func (v view) Fronts() bool {
	n := 0
	for i := range v.Servers {
		if v.Servers[i].Role == v.Server.Role {
			n++
		}
	}
	return n > 1
}

// Pod returns the specification of the pods of a part, on lines that begin with n spaces.
func (v view) Pod(part string, n int) (string, error) {
	v.Part = part
	v.Command = map[string][]string{"engine": v.Server.Command, "leader": v.Server.Leader,
		"worker": v.Server.Worker}[part]
	if v.Exact != nil && part != "worker" {
		v.Command = v.reporting(v.Server, v.Command)
	}
	var out strings.Builder
	err := v.all.ExecuteTemplate(&out, "pod", v)
	return indent(n, strings.TrimPrefix(out.String(), "\n")), err
}

// execute writes one document and the line that begins it.
func (b *Bundle) execute(all *template.Template, out io.Writer, name string, s *Server) error {
	if _, err := io.WriteString(out, "---\n"); err != nil {
		return err
	}
	return all.ExecuteTemplate(out, name, view{Bundle: b, Server: s,
		Object: b.Name + "-" + s.Name, Sidecar: s.Port != b.Port,
		Transfers: b.transfers(s), SidecarImage: sidecarImage, all: all})
}
