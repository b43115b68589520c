package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAMistakeIsNotedWhereItsKeyStands has values on the line after their keys.
func TestAMistakeIsNotedWhereItsKeyStands(t *testing.T) {
	require.Equal(t, []string{`line 2: pools[0].scheme: "ftp" is unknown; use http or https`},
		mistakesOf(t, "pools:\n- scheme:\n    ftp\n  pool_id: a\n  static_configs: [ { targets: ['a:1'] } ]\n"))
	require.Equal(t, []string{`line 4: pools[0].model_ids.b: "x" already belongs to "a"; a server's name has one id`},
		mistakesOf(t, "pools:\n- model_ids:\n    a: [ x ]\n    b:\n      [ x ]\n  pool_id: a\n  static_configs: [ { targets: ['a:1'] } ]\n"))
}

// TestWhatIsMergedAsAListIsDecodedToo has a mistake that only the type of the
// block finds.
func TestWhatIsMergedAsAListIsDecodedToo(t *testing.T) {
	require.Equal(t, []string{"line 4: pools[0].relabel_configs[0].modulus: relabel configuration for hashmod requires non-zero modulus"},
		mistakes(t, "relabel_configs: [ { <<: [ { action: hashmod }, { target_label: x } ], source_labels: [ a ] } ]"))
}

func TestTheShortestTimesAreGood(t *testing.T) {
	f := onePool()
	f.Global.StallAfter = 1
	f.Pools[0].StartBudget, f.Pools[0].IdentityInterval = 1, 1
	f.Resolve()
	require.NoError(t, f.Validate())
	f.Global.ScrapeInterval, f.Global.ScrapeTimeout = 1, 1
	require.NoError(t, f.Global.Validate())
}
