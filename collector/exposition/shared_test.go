package exposition

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

// showing is the block of a replica's page, its series labelled as that
// replica's.
func showing(t *testing.T, replica, body string) *Block {
	t.Helper()
	c := NewCache(Options{Label: func(lset labels.Labels) Labelled {
		b := labels.NewBuilder(lset)
		if lset.Get("replica_id") == "" {
			b.Set("replica_id", replica)
		}
		return Labelled{Labels: b.Labels(), Keep: true}
	}})
	b := c.Block()
	require.NoError(t, c.Parse(b, []byte(body), ""))
	return b
}

// shown is all of a block, which is as long as it says.
func shown(t *testing.T, b *Block) string {
	t.Helper()
	var text []byte
	for i := range b.shape.families {
		before := len(text)
		text = b.AppendFamily(text, i)
		require.EqualValues(t, len(text)-before, b.sizes[i])
	}
	require.Equal(t, len(text), b.Size())
	return string(text)
}

func TestReplicasOfOnePoolShareTheirTexts(t *testing.T) {
	a := showing(t, "a", "x{m=\"1\"} 1\nx{m=\"2\"} 2\ny 3\nz{gpu=\"A\"} 4\n")
	b := showing(t, "long-name-7", "y 5\nx{m=\"2\"} 6\nx{m=\"1\"} 7\nz{gpu=\"B\"} 8\n")
	require.Equal(t, "x{m=\"1\",replica_id=\"a\"} 1\nx{m=\"2\",replica_id=\"a\"} 2\ny{replica_id=\"a\"} 3\nz{gpu=\"A\",replica_id=\"a\"} 4\n", shown(t, a))
	require.Equal(t, "x{m=\"1\",replica_id=\"long-name-7\"} 7\nx{m=\"2\",replica_id=\"long-name-7\"} 6\ny{replica_id=\"long-name-7\"} 5\nz{gpu=\"B\",replica_id=\"long-name-7\"} 8\n", shown(t, b))
	for i, shared := range []bool{true, true, false} {
		require.Equal(t, shared, unsafe.StringData(a.shape.segment(i).text) == unsafe.StringData(b.shape.segment(i).text), a.shape.families[i].Name)
	}
	for n := range 4 {
		require.Equal(t, "long-name-7", b.shape.Labels(n).Get("replica_id"))
	}
	require.Equal(t, "B", b.shape.Labels(3).Get("gpu"))
}

func TestOddReplicasKeepTheirTexts(t *testing.T) {
	for _, tc := range []struct{ name, replica, body, want string }{
		{"a replica without a name", "", "x 1\n", "x 1\n"},
		{"a name that needs escapes", "a\"b\\c\nd", "x 1\ny 2\n", "x{replica_id=\"a\\\"b\\\\c\\nd\"} 1\ny{replica_id=\"a\\\"b\\\\c\\nd\"} 2\n"},
		{"series of another replica", "a", "x{replica_id=\"b\"} 1\ny 2\n", "x{replica_id=\"b\"} 1\ny{replica_id=\"a\"} 2\n"},
		{"a label that ends like it", "a", "x{exported_replica_id=\"b\"} 1\ny{exported_replica_id=\"a\"} 2\n", "x{exported_replica_id=\"b\",replica_id=\"a\"} 1\ny{exported_replica_id=\"a\",replica_id=\"a\"} 2\n"},
		{"a value that looks like it", "a", "x{m=\"replica_id=\\\"a\\\"\"} 1\n", "x{m=\"replica_id=\\\"a\\\"\",replica_id=\"a\"} 1\n"},
		{"a value that ends like it", "a", "x{m=\"replica_id=\"} 1\n", "x{m=\"replica_id=\",replica_id=\"a\"} 1\n"},
		{"the same text twice", "1", "x{m=\"1\"} 1\n", "x{m=\"1\",replica_id=\"1\"} 1\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := showing(t, tc.replica, tc.body)
			require.Equal(t, tc.want, shown(t, b))
			for n := range b.shape.lines {
				require.Contains(t, strings.Split(tc.want, "\n")[n], string(appendPrefix(nil, b.shape.Labels(n))))
			}
		})
	}
}
