//go:build nokubernetes

package discovery

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

func TestBuildWithoutKubernetesIsReported(t *testing.T) {
	var c Config
	require.NoError(t, yaml.Unmarshal([]byte("file_sd_configs: [{files: [a.json]}]"), &c))
	require.ErrorContains(
		t,
		yaml.Unmarshal([]byte("kubernetes_sd_configs: [{role: pod}]"), &c),
		"built without Kubernetes discovery",
	)
}
