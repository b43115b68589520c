package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	promconfig "github.com/prometheus/common/config"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// accessFlags are TLS and credentials for servers that are named on the command
// line; a configuration file has them as keys of its pool.
type accessFlags struct {
	ca, cert, key, serverName string
	insecure                  bool
	user, password, token     string
}

// accessFlag is one of them that takes a text.
type accessFlag struct {
	name, help, holder string
	into               *string
}

// texts are all flags but --tls.insecure.
func (f *accessFlags) texts() []accessFlag {
	return []accessFlag{
		{"tls.ca-file", "Authority of the server's certificate.", "FILE", &f.ca},
		{"tls.cert-file", "Our own certificate, with --tls.key-file.", "FILE", &f.cert},
		{"tls.key-file", "Key of --tls.cert-file.", "FILE", &f.key},
		{"tls.server-name", "Name that the server's certificate has to be for.", "NAME", &f.serverName},
		{"user", "User name, with --password-file.", "NAME", &f.user},
		{"password-file", "File with the password of --user.", "FILE", &f.password},
		{"token-file", "File with a bearer token.", "FILE", &f.token},
	}
}

// declare adds the flags to a subcommand.
func (f *accessFlags) declare(cmd *kingpin.CmdClause) {
	for _, flag := range f.texts() {
		cmd.Flag(flag.name, flag.help).PlaceHolder(flag.holder).StringVar(flag.into)
	}
	cmd.Flag("tls.insecure", "Do not verify the server's certificate.").BoolVar(&f.insecure)
}

// given reports whether any of the flags is set.
func (f *accessFlags) given() bool { return *f != accessFlags{} }

// tls reports whether a flag is of use over TLS only.
func (f *accessFlags) tls() bool {
	return f.ca != "" || f.cert != "" || f.serverName != "" || f.insecure
}

// check says which flags contradict each other.
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

// apply puts what the flags say into the pool.
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

// document is a configuration file that asks the server in the same way.
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
