package web_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// users is a web configuration with user alice and password "secret", whose hash is quick to check.
const users = "basic_auth_users:\n  alice: $2a$04$ogGemYYURbgcWEweYTLY4uZvIwM2jB5l0rTJS7echnRxsSQ3x0Xva\n"

// webConfig writes a web configuration file.
func webConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "web.yml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// login requests a path and returns the status.
func login(t *testing.T, client *http.Client, url, user, password string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	if user != "" {
		request.SetBasicAuth(user, password)
	}
	response, err := client.Do(request)
	require.NoError(t, err)
	read(t, response.Body)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

func TestBasicAuthGuardsEveryPath(t *testing.T) {
	// Z05.
	opts := threeReplicas(t).options()
	opts.WebConfigFile = webConfig(t, users)
	base := start(t, opts)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

	for _, path := range []string{"/", "/metrics", "/targets", "/sd", "/-/ready"} {
		require.Equal(t, http.StatusUnauthorized, login(t, client, base+path, "", ""), path)
	}
	for _, c := range []struct {
		name, user, password string
		want                 int
	}{
		{"right", "alice", "secret", http.StatusOK},
		{"wrong password", "alice", "guess", http.StatusUnauthorized},
		{"unknown user", "mallory", "secret", http.StatusUnauthorized},
		{"unknown user with the toolkit's own dummy password", "mallory", "fakepassword", http.StatusUnauthorized},
		{"a second time, from the cache", "mallory", "fakepassword", http.StatusUnauthorized},
		{"the cache key of another pair", "alice:secret", "", http.StatusUnauthorized},
		{"right again", "alice", "secret", http.StatusOK},
	} {
		require.Equal(t, c.want, login(t, client, base+"/metrics", c.user, c.password), c.name)
	}
}

func TestAFileThatBecomesEmptyOpensNothing(t *testing.T) {
	opts := threeReplicas(t).options()
	opts.WebConfigFile = webConfig(t, users)
	base := start(t, opts)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, text := range []string{"", "{}\n", "basic_auth_users: {}\n", "# " + users} {
		require.NoError(t, os.WriteFile(opts.WebConfigFile, []byte(text), 0o600))
		for _, user := range []string{"", "alice", "mallory"} {
			require.Equal(t, http.StatusInternalServerError, login(t, client, base+"/metrics", user, "guess"), text)
		}
	}
	require.NoError(t, os.WriteFile(opts.WebConfigFile, []byte(users), 0o600))
	require.Equal(t, http.StatusOK, login(t, client, base+"/metrics", "alice", "secret"))
	require.Equal(t, http.StatusUnauthorized, login(t, client, base+"/metrics", "", ""))
}

func TestBrokenWebConfigurationIsRefusedAtStart(t *testing.T) {
	for name, text := range map[string]string{
		"unknown key":     "tls_config: {}\n",
		"missing key":     "tls_server_config:\n  cert_file: /nonexistent.pem\n",
		"not a bcrypt":    "basic_auth_users:\n  alice: secret\n",
		"unknown file":    "tls_server_config:\n  cert_file: /nonexistent.pem\n  key_file: /nonexistent.key\n",
		"not even a YAML": "{",
	} {
		opts := newFleet(t).options()
		opts.WebConfigFile = webConfig(t, text)
		_, err := web.New(t.Context(), opts)
		require.ErrorContains(t, err, "web configuration ", name)
		require.NotContains(t, err.Error(), "\n", name)
	}
}
