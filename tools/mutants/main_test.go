package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMutantsThatTestsMiss has a package whose test looks at one side of a bound, and at one of two reasons.
func TestMutantsThatTestsMiss(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"go.mod": "module example.org/door\n\ngo 1.26\n",
		"door/door.go": "package door\n\nconst tall = 2 > 1\n\nfunc Open(age int, known, paid bool) bool {\n" +
			"\treturn age >= 18 && (known ||\n\t\tpaid) // Beside the door.\n}\n\nfunc Closed(n int) bool { return n == 0 }\n",
		"door/door_test.go": "package door\n\nimport \"testing\"\n\nfunc TestOpen(t *testing.T) {\n" +
			"\tif !Open(20, true, false) || Open(10, true, true) || Open(20, false, false) {\n\t\tt.Fatal()\n\t}\n}\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	require.NoError(t, run(say, time.Minute, 0, []string{"door"}))
	require.Equal(t, []string{
		"door: tests reach 4 of 5 mutants",
		"door/door.go:6: the other way at the bound: age >= 18",
		"4 of 4 mutants tried, 1 survived",
	}, said)
	require.ErrorContains(t, run(say, time.Minute, 90, []string{"door"}), "tests of door caught 3 of 4 mutants")
}
