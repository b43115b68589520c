package main

import (
	"errors"

	"github.com/alecthomas/kingpin/v2"
	promconfig "github.com/prometheus/common/config"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// accessFlags holds TLS settings and credentials for servers that are named on the command line.
type accessFlags struct {
	ca, cert, key, serverName string
	insecure                  bool
	user, password, token     string
}

func (f *accessFlags) declare(cmd *kingpin.CmdClause) {
	cmd.Flag("tls.ca-file", "CA certificate to verify the server's certificate with.").
		PlaceHolder("FILE").
		StringVar(&f.ca)
	cmd.Flag("tls.cert-file", "Client certificate, with --tls.key-file.").PlaceHolder("FILE").StringVar(&f.cert)
	cmd.Flag("tls.key-file", "Key of --tls.cert-file.").PlaceHolder("FILE").StringVar(&f.key)
	cmd.Flag("tls.server-name", "Name that the server's certificate must be valid for.").
		PlaceHolder("NAME").
		StringVar(&f.serverName)
	cmd.Flag("user", "User name, with --password-file.").PlaceHolder("NAME").StringVar(&f.user)
	cmd.Flag("password-file", "File with the password of --user.").PlaceHolder("FILE").StringVar(&f.password)
	cmd.Flag("token-file", "File with a bearer token.").PlaceHolder("FILE").StringVar(&f.token)
	cmd.Flag("tls.insecure", "Do not verify the server's certificate.").BoolVar(&f.insecure)
}

func (f *accessFlags) given() bool { return *f != accessFlags{} }

// checkBeside also checks what only goes with a configuration file, or only without one: its name, a pool of
// it, and files of kinds, each empty if it is not given.
func (f *accessFlags) checkBeside(file, poolID string, kindsFiles []string) error {
	switch {
	case file == "" && poolID != "":
		return errors.New("--pool-id names a pool of a file; give --config.file FILE too")
	case file != "" && f.given():
		return errors.New("--config.file and flags for TLS or credentials are both given; the pools of the file " +
			"have these as keys")
	case file != "" && len(kindsFiles) > 0:
		return errors.New("--config.file and --kinds-file are both given; set kinds_file in the file")
	}
	return f.check()
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
	if f.ca != "" || f.cert != "" || f.serverName != "" || f.insecure {
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
	var pool config.Pool
	f.apply(&pool)
	text, _ := yaml.Marshal(map[string]any{"pools": []any{struct {
		PoolID        string                    `yaml:"pool_id"`
		Scheme        string                    `yaml:"scheme"`
		TLS           promconfig.TLSConfig      `yaml:"tls_config,omitempty"`
		BasicAuth     *promconfig.BasicAuth     `yaml:"basic_auth,omitempty"`
		Authorization *promconfig.Authorization `yaml:"authorization,omitempty"`
		StaticConfigs []map[string][]string     `yaml:"static_configs"`
	}{
		"default", scheme, pool.HTTP.TLS, pool.HTTP.BasicAuth, pool.HTTP.Authorization,
		[]map[string][]string{{"targets": {address}}},
	}}})
	return string(text)
}
