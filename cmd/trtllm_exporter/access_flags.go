package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	promconfig "github.com/prometheus/common/config"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// accessFlags are TLS and credentials for servers on the command line; files have them as keys of a pool.
type accessFlags struct {
	ca, cert, key, serverName string
	insecure                  bool
	user, password, token     string
}

type textFlag struct {
	name, help, placeholder string
	value                   *string
}

// texts lists all flags except --tls.insecure.
func (f *accessFlags) texts() []textFlag {
	return []textFlag{
		{"tls.ca-file", "CA certificate to verify the server's certificate with.", "FILE", &f.ca},
		{"tls.cert-file", "Client certificate, with --tls.key-file.", "FILE", &f.cert},
		{"tls.key-file", "Key of --tls.cert-file.", "FILE", &f.key},
		{"tls.server-name", "Name that the server's certificate must be valid for.", "NAME", &f.serverName},
		{"user", "User name, with --password-file.", "NAME", &f.user},
		{"password-file", "File with the password of --user.", "FILE", &f.password},
		{"token-file", "File with a bearer token.", "FILE", &f.token},
	}
}

func (f *accessFlags) declare(cmd *kingpin.CmdClause) {
	for _, flag := range f.texts() {
		cmd.Flag(flag.name, flag.help).PlaceHolder(flag.placeholder).StringVar(flag.value)
	}
	cmd.Flag("tls.insecure", "Do not verify the server's certificate.").BoolVar(&f.insecure)
}

func (f *accessFlags) given() bool { return *f != accessFlags{} }

// tls reports whether a flag is set that needs TLS.
func (f *accessFlags) tls() bool {
	return f.ca != "" || f.cert != "" || f.serverName != "" || f.insecure
}

func (f *accessFlags) check() error {
	switch {
	case (f.cert == "") != (f.key == ""):
		return errors.New("--tls.cert-file and --tls.key-file go together; give both or none")
	case (f.user == "") != (f.password == ""):
		return errors.New("--user and --password-file go together; give both or none")
	case f.user != "" && f.token != "":
		return errors.New("--user and --token-file are both given; a server takes one of them")
	}
	return nil
}

func (f *accessFlags) apply(pool *config.Pool) {
	if f.tls() {
		pool.Scheme = "https"
	}
	pool.HTTP.TLS = promconfig.TLSConfig{
		CAFile: f.ca, CertFile: f.cert, KeyFile: f.key, ServerName: f.serverName, InsecureSkipVerify: f.insecure,
	}
	if f.user != "" {
		pool.HTTP.BasicAuth = &promconfig.BasicAuth{Username: f.user, PasswordFile: f.password}
	}
	if f.token != "" {
		pool.HTTP.Authorization = &promconfig.Authorization{Type: "Bearer", CredentialsFile: f.token}
	}
}

// document returns a configuration file for the server with the same settings.
func (f *accessFlags) document(scheme, address string) string {
	var b strings.Builder
	b.WriteString("pools:\n  - pool_id: default\n")
	fmt.Fprintf(&b, "    scheme: %s\n", scheme)
	if f.tls() {
		b.WriteString("    tls_config:\n")
		for _, key := range [][2]string{
			{"ca_file", f.ca}, {"cert_file", f.cert}, {"key_file", f.key}, {"server_name", f.serverName},
		} {
			if key[1] != "" {
				fmt.Fprintf(&b, "      %s: %q\n", key[0], key[1])
			}
		}
		if f.insecure {
			b.WriteString("      insecure_skip_verify: true\n")
		}
	}
	if f.user != "" {
		fmt.Fprintf(&b, "    basic_auth: { username: %q, password_file: %q }\n", f.user, f.password)
	}
	if f.token != "" {
		fmt.Fprintf(&b, "    authorization: { credentials_file: %q }\n", f.token)
	}
	fmt.Fprintf(&b, "    static_configs: [ { targets: [%q] } ]\n", address)
	return b.String()
}
