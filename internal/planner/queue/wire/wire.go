// Package wire is what llmsim and the server that it starts for a queue tell each other.
package wire

// Options say where a server listens, and to whom.
type Options struct {
	Host string `json:"host"`
	// Port 0 takes a free one.
	Port int `json:"port"`
	// User is the public key of the only user.
	User string `json:"user"`
	// Dir is the folder for what the server stores.
	Dir string `json:"dir"`
	// Cert, Key and CA are PEM files for TLS. With CA, clients need a certificate.
	Cert string `json:"cert,omitempty"`
	Key  string `json:"key,omitempty"`
	CA   string `json:"ca,omitempty"`
}

// Started is what the server answers.
type Started struct {
	// URL is the server's address, and Error why there is none.
	URL   string `json:"url,omitempty"`
	Error string `json:"error,omitempty"`
}
