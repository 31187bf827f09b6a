// Command pki makes the keys and certificates of a testbed.
//
//	pki init DIR                      an authority, a serving certificate, a service account key
//	pki client DIR NAME USER [GROUP]  a client certificate NAME.crt and NAME.key for a user
//
// Everything is for one machine: the serving certificate names loopback addresses and the API
// server's names inside the cluster, and nothing else.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	// validity is longer than any testbed lives, and short enough to be worth nothing once leaked.
	validity = 30 * 24 * time.Hour
	// skew lets a clock that is stepped back a little keep its certificates.
	skew = time.Hour
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "init":
		return initialise(folder(args[1]))
	case len(args) >= 4 && args[0] == "client":
		return client(folder(args[1]), args[2], args[3], args[4:])
	default:
		return errors.New("usage: pki init DIR | pki client DIR NAME USER [GROUP]...")
	}
}

// A folder holds PEM files; keys are readable by their owner alone.
type folder string

func initialise(dir folder) error {
	if err := os.MkdirAll(string(dir), 0o700); err != nil {
		return err
	}
	authority := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "testbed"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	key, err := dir.key("ca")
	if err != nil {
		return err
	}
	if err := dir.certificate("ca", authority, authority, key, key); err != nil {
		return err
	}
	if err := serving(dir); err != nil {
		return err
	}
	accounts, err := dir.key("service-account")
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&accounts.PublicKey)
	if err != nil {
		return err
	}
	return dir.write("service-account.pub", "PUBLIC KEY", public, 0o644)
}

func serving(dir folder) error {
	return dir.issue("server", &x509.Certificate{
		Subject:     pkix.Name{CommonName: "testbed-server"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{
			"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local",
		},
		// The last one is the first address of the testbed's service range.
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 96, 0, 1)},
	})
}

func client(dir folder, name, user string, groups []string) error {
	return dir.issue(name, &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// issue makes a key and has the authority of the folder sign a certificate for it.
func (dir folder) issue(name string, template *x509.Certificate) error {
	authority, err := dir.readCertificate("ca.crt")
	if err != nil {
		return err
	}
	signer, err := dir.readKey("ca.key")
	if err != nil {
		return err
	}
	key, err := dir.key(name)
	if err != nil {
		return err
	}
	return dir.certificate(name, template, authority, key, signer)
}

func (dir folder) certificate(
	name string, template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey,
) error {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-skew)
	template.NotAfter = time.Now().Add(validity)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return fmt.Errorf("unable to sign %s: %w", name, err)
	}
	return dir.write(name+".crt", "CERTIFICATE", der, 0o644)
}

func (dir folder) key(name string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, dir.write(name+".key", "PRIVATE KEY", der, 0o600)
}

func (dir folder) write(name, kind string, der []byte, mode os.FileMode) error {
	block := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	return os.WriteFile(filepath.Join(string(dir), name), block, mode)
}

func (dir folder) read(name string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(string(dir), name))
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s is not a PEM file", name)
	}
	return block.Bytes, nil
}

func (dir folder) readCertificate(name string) (*x509.Certificate, error) {
	der, err := dir.read(name)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func (dir folder) readKey(name string) (*ecdsa.PrivateKey, error) {
	der, err := dir.read(name)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s holds a key of another kind", name)
	}
	return key, nil
}
