package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

func TestURLsThatLeadNowhere(t *testing.T) {
	const unreadable = "is not a URL; write it like https://example.com:8443/path"
	for text, want := range map[string]string{
		"https://grafana.example":      "",
		"http://10.0.0.1:3000/grafana": "",
		"http://[::1]:3000":            "",
		"http://[fe80::1%25eth0]:3000": "",
		"http://[fe80::1%eth0]:3000": `"http://[fe80::1%eth0]:3000" does not spell its zone as URLs do; ` +
			`write "http://[fe80::1%25eth0]:3000"`,
		"[fe80::1%eth0]:3000":             `"[fe80::1%eth0]:3000" has no scheme; did you mean "http://[fe80::1%25eth0]:3000"?`,
		"grafana:3000":                    `"grafana:3000" has no scheme; did you mean "http://grafana:3000"?`,
		"10.0.0.1:3000":                   `"10.0.0.1:3000" has no scheme; did you mean "http://10.0.0.1:3000"?`,
		"[::1]:3000":                      `"[::1]:3000" has no scheme; did you mean "http://[::1]:3000"?`,
		"grafana.example/path":            `"grafana.example/path" has no scheme; did you mean "http://grafana.example/path"?`,
		"grafana.example:443":             `"grafana.example:443" has no scheme; did you mean "https://grafana.example:443"?`,
		"//grafana:3000":                  `"//grafana:3000" has no scheme; did you mean "http://grafana:3000"?`,
		"http:/grafana:3000":              `"http:/grafana:3000" has no scheme; did you mean "http://grafana:3000"?`,
		"HTTPS:grafana":                   `"HTTPS:grafana" has no scheme; did you mean "https://grafana"?`,
		"me:hunter2@grafana:3000?key=abc": `"xxxxx@grafana:3000?xxxxx" has no scheme; did you mean "http://xxxxx@grafana:3000?xxxxx"?`,
		"ftp://grafana":                   `"ftp://grafana" has the scheme ftp; use http or https`,
		"http://:3000":                    `"http://:3000" has no host; write it like https://example.com:8443/path`,
		"http://me:hunter2@graf ana":      unreadable,
		"/grafana":                        unreadable,
		"":                                unreadable,
		"our wiki":                        unreadable,
	} {
		err := config.CheckURL(text)
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.EqualError(t, err, want, text)
	}
}
