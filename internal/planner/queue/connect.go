//go:build !js

package queue

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/scenarios"
)

// connect connects to the server, which is the one that this process started if that is not nil.
func (c *Config) connect(own *hosted, k *key) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name("llmsim"), nats.MaxReconnects(-1), nats.ReconnectWait(500 * time.Millisecond),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				c.Log(fmt.Sprintf("the connection to %s is lost; trying again (%v)", c.where(),
					err))
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			c.Log("the connection to " + c.where() + " is back")
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.Log(err.Error())
		}),
	}
	if own != nil {
		options = append(options, nats.InProcessServer(own))
	} else if c.CA != "" {
		options = append(options, nats.RootCAs(c.CA))
	}
	if c.Credentials != "" {
		options = append(options, nats.UserCredentials(c.Credentials))
	}
	if own == nil && c.Cert != "" {
		options = append(options, nats.ClientCert(c.Cert, c.Key))
	}
	login := options
	if u, err := url.Parse(c.URL); c.Credentials == "" && (err != nil || u.User == nil) {
		// as the user that holders of the key can be, where the server asks for that
		pair, public, err := k.login()
		if err != nil {
			return nil, err
		}
		login = append(slices.Clip(options), nats.Nkey(public, pair.Sign))
	}
	conn, err := nats.Connect(c.URL, login...)
	if errors.Is(err, nats.ErrNkeysNotSupported) {
		conn, err = nats.Connect(c.URL, options...)
	}
	if errors.Is(err, nats.ErrAuthorization) {
		err = fmt.Errorf("%w; the server of a planner needs the planner's --queue-key, other "+
			"servers need a user and password or --nats-creds", err)
	}
	if err != nil {
		return nil, scenarios.BadInput(fmt.Errorf("--nats %s: %w", c.where(), err))
	}
	return conn, nil
}

// key is the secret that planners and workers share. It signs tasks and results, and opens the
// server of a planner to workers. It is never sent.
type key [sha256.Size]byte

// The kinds of messages. A signed result is not accepted as a task.
const (
	aTask   = "task"
	aResult = "result"
)

// sum returns the authentication code of a message under a name.
func (k *key) sum(what, name string, data []byte) []byte {
	h := hmac.New(sha256.New, k[:])
	for _, part := range []string{what, name} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	h.Write(data)
	return h.Sum(nil)
}

// seal returns a message with its authentication code in front.
func (k *key) seal(what, name string, data []byte) []byte {
	return append(k.sum(what, name, data), data...)
}

// errForged is the error of a message that was not signed with the key.
var errForged = errors.New("it is not signed with the key that planner and workers share")

// open returns the message that seal sealed.
func (k *key) open(what, name string, sealed []byte) ([]byte, error) {
	if len(sealed) < sha256.Size {
		return nil, errForged
	}
	code, data := sealed[:sha256.Size], sealed[sha256.Size:]
	if !hmac.Equal(code, k.sum(what, name, data)) {
		return nil, errForged
	}
	return data, nil
}

// login returns the NATS user that only holders of the key can be. A user proves itself by a
// signature of what the server asks, so that whoever listens learns nothing.
func (k *key) login() (nkeys.KeyPair, string, error) {
	pair, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, k.sum("login", "", nil))
	if err != nil {
		return nil, "", err
	}
	public, err := pair.PublicKey()
	return pair, public, err
}

// key returns the key of a queue that others share, from its file.
func (c *Config) key() (*key, error) {
	path, err := c.keyFile()
	if err != nil {
		return nil, err
	}
	k, err := readKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeKey(path); err == nil {
			c.Log(fmt.Sprintf(
				"made the key of the queue, %s; workers on other machines need a copy of it", path))
			k, err = readKey(path)
		}
	}
	return k, err
}

// keyFile is where the key is: Config.KeyFile, or in the user's configuration folder.
func (c *Config) keyFile() (string, error) {
	if c.KeyFile != "" {
		return c.KeyFile, nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf(
			"no folder for the key that planner and workers share (%w); give --queue-key", err)
	}
	return filepath.Join(dir, "llmsim", "queue.key"), nil
}

// keyFlag is what a worker of the same user needs beside the address.
func (c *Config) keyFlag() string {
	if c.KeyFile == "" {
		return ""
	}
	return " --queue-key " + c.KeyFile
}

// mostKey bounds the file of a key, in bytes: 64 digits, and what editors add.
const mostKey = 1 << 10

// readKey reads the 64 hexadecimal digits of a key.
func readKey(path string) (*key, error) {
	text, err := files.Read(files.Disk{}, path, mostKey)
	if err != nil {
		return nil, err
	}
	var k key
	digits := strings.TrimSpace(string(text))
	if n, err := hex.Decode(k[:], []byte(digits[:min(len(digits), 2*len(k))])); err != nil ||
		n < len(k) || len(digits) > 2*n {
		return nil, fmt.Errorf(
			"%s: found no key; want %d hexadecimal digits, as llmsim writes where there is no "+
				"such file", path, 2*len(k))
	}
	return &k, nil
}

// makeKey writes a new key that only this user may read, unless somebody else does at the same
// time.
func makeKey(path string) error {
	var k key
	if _, err := rand.Read(k[:]); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".queue-key-") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = fmt.Fprintln(file, hex.EncodeToString(k[:]))
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return os.Rename(file.Name(), path) // where there are no hard links
	}
	return nil
}

// listen reads Listen, as host:port; empty without it.
func (c *Config) listen() (string, error) {
	if c.Listen == "" {
		return "", nil
	}
	where := c.Listen
	if !strings.Contains(where, ":") {
		where = ":" + where
	}
	host, port, err := net.SplitHostPort(where)
	if err == nil && port != "" {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil || port == "" || strings.Contains(host, "@") {
		return "", fmt.Errorf("--listen %q: want a port, such as 4222 for processes of this "+
			"machine or 0.0.0.0:4222 for all; workers show that they have the key of "+
			"--queue-key, and need no password", c.Listen)
	}
	return net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port), nil
}

// where names the server, without its password.
func (c *Config) where() string {
	if u, err := url.Parse(c.URL); err == nil && c.URL != "" {
		return u.Redacted()
	}
	return "this process"
}
