package queue

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

func TestBadConfigs(t *testing.T) {
	if _, err := Open(context.Background(), Config{Listen: "user:password@0.0.0.0:4222"},
		nil); !scenarios.IsInputError(err) || !strings.Contains(err.Error(), "need no password") {
		t.Errorf("a password in place of a key: %v", err)
	}
	if _, err := Open(context.Background(), Config{URL: "nats://user:secret@127.0.0.1:1"},
		nil); !scenarios.IsInputError(err) || strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody there: %v", err)
	}
}

// The server of a process listens where and to whom it is told, and by default not at all.
func TestWhoCanJoin(t *testing.T) {
	cert, key := certificate(t)
	for name, c := range map[string]struct {
		planner, worker Config
		refused         bool
	}{
		"this machine": {Config{Listen: "0"}, Config{}, false},
		"all machines": {Config{Listen: "0.0.0.0:0"}, Config{}, false},
		"another key": {
			Config{Listen: "0"}, Config{KeyFile: filepath.Join(t.TempDir(), "other.key")}, true},
		"a password instead": {Config{Listen: "0"}, Config{URL: "user:guess@"}, true},
		"TLS":                {Config{Listen: "0", Cert: cert, Key: key}, Config{CA: cert}, false},
		"TLS, not trusted":   {Config{Listen: "0", Cert: cert, Key: key}, Config{}, true},
		"certificates": {Config{Listen: "0", CA: cert, Cert: cert, Key: key},
			Config{CA: cert, Cert: cert, Key: key}, false},
		"without one's own": {Config{Listen: "0", CA: cert, Cert: cert, Key: key},
			Config{CA: cert}, true},
		"missing authority":  {Config{Listen: "0"}, Config{CA: "nowhere.pem"}, true},
		"missing credential": {Config{Listen: "0"}, Config{Credentials: "nowhere.creds"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			planner := open(t, c.planner, nil)
			defer planner.Close()
			c.worker.URL = strings.Replace(planner.server.url, "://",
				"://"+c.worker.URL, 1)
			c.worker.Workers = 1
			var calls atomic.Int32
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- Work(ctx, c.worker, counting(&calls)) }()
			if c.refused {
				if err := <-ended; !scenarios.IsInputError(err) {
					t.Errorf("not refused: %v", err)
				}
				cancel()
				return
			}
			for _, err := range doAll(t, planner, 3, 1) {
				if err != nil {
					t.Error(err)
				}
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	q := open(t, Config{}, nil)
	defer q.Close()
	if q.server != nil || q.conn != nil {
		t.Error("a queue that nobody was invited to has a server")
	}
}

// certificate makes one that vouches for itself, and returns its files.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testkit.OK(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "llmsim"}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey,
		private)
	testkit.OK(t, err)
	secret, err := x509.MarshalECPrivateKey(private)
	testkit.OK(t, err)
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(t.TempDir(), name)
		testkit.OK(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}),
			0o600))
		return path
	}
	return write("cert.pem", "CERTIFICATE", public), write("key.pem", "EC PRIVATE KEY", secret)
}
