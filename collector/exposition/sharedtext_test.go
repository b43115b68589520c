package exposition

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

// showingOn returns the block of a replica's page and its cache. All series are watched.
func showingOn(t *testing.T, replica, body string) (*Cache, *Block) {
	t.Helper()
	c, label := NewCache(Options{Watch: func(string) bool { return true }}), Labeler(func(lset labels.Labels) Labeled {
		b := labels.NewBuilder(lset)
		if lset.Get("replica_id") == "" {
			b.Set("replica_id", replica)
		}
		return Labeled{Labels: b.Labels(), Keep: true}
	})
	b, err := c.Parse([]byte(body), "", &label)
	require.NoError(t, err)
	return c, b
}

// textOf returns the lines of a block.
func textOf(b *Block) string {
	var text []byte
	for i := range b.shape.families {
		text = b.AppendFamily(text, i)
	}
	return string(text)
}

func TestLocalValuesOfUnusualReplicas(t *testing.T) {
	for _, tc := range []struct{ name, replica, body, want string }{
		{"a replica without a name", "", "x 1\n", "x 1\n"},
		{
			"a name that needs escapes", "a\"b\\c\nd", "x 1\ny 2\n",
			"x{replica_id=\"a\\\"b\\\\c\\nd\"} 1\ny{replica_id=\"a\\\"b\\\\c\\nd\"} 2\n",
		},
		{
			"series of another replica", "a", "x{replica_id=\"b\"} 1\ny 2\n",
			"x{replica_id=\"b\"} 1\ny{replica_id=\"a\"} 2\n",
		},
		{
			"a label with that suffix", "a", "x{exported_replica_id=\"b\"} 1\ny{exported_replica_id=\"a\"} 2\n",
			"x{exported_replica_id=\"b\",replica_id=\"a\"} 1\ny{exported_replica_id=\"a\",replica_id=\"a\"} 2\n",
		},
		{
			"a value with that text", "a", "x{m=\"replica_id=\\\"a\\\"\"} 1\n",
			"x{m=\"replica_id=\\\"a\\\"\",replica_id=\"a\"} 1\n",
		},
		{"a value with that ending", "a", "x{m=\"replica_id=\"} 1\n", "x{m=\"replica_id=\",replica_id=\"a\"} 1\n"},
		{"the same text twice", "1", "x{m=\"1\"} 1\n", "x{m=\"1\",replica_id=\"1\"} 1\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, b := showingOn(t, tc.replica, tc.body)
			require.Equal(t, tc.want, textOf(b))
			for n := range b.shape.lines {
				require.Contains(t, strings.Split(tc.want, "\n")[n], string(appendPrefix(nil, b.shape.Labels(n))))
			}
		})
	}
}

// gpuPage returns a page with GPUs in the given order.
func gpuPage(names ...string) string {
	var page strings.Builder
	page.WriteString("# TYPE use gauge\n")
	for i, name := range names {
		fmt.Fprintf(&page, "use{gpu_uuid=\"%s\"} %d\n", name, i)
	}
	page.WriteString("x{m=\"1\"} 1\n# HELP watts Power.\n")
	for i, name := range names {
		fmt.Fprintf(&page, "watts{gpu_uuid=\"%s\"} %d\n", name, 300+i)
	}
	return page.String()
}

func TestReplicasShareAllButGPUNames(t *testing.T) {
	t.Parallel()
	first, a := showingOn(t, "a", gpuPage("GPU-1", "GPU-2"))
	second, b := showingOn(t, "b", gpuPage("GPU-99", "GPU-3"))
	require.Equal(t, "use{gpu_uuid=\"GPU-3\",replica_id=\"b\"} 1\nuse{gpu_uuid=\"GPU-99\",replica_id=\"b\"} 0\n"+
		"watts{gpu_uuid=\"GPU-3\",replica_id=\"b\"} 301\nwatts{gpu_uuid=\"GPU-99\",replica_id=\"b\"} 300\n"+
		"x{m=\"1\",replica_id=\"b\"} 1\n", textOf(b))
	require.Same(t, unsafe.SliceData(a.shape.families), unsafe.SliceData(b.shape.families))
	require.Same(t, unsafe.SliceData(a.shape.lines), unsafe.SliceData(b.shape.lines))
	require.Equal(t, []string{"b", "GPU-3", "GPU-99"}, b.shape.local)
	require.Same(t, unsafe.SliceData(a.shape.indexes), unsafe.SliceData(b.shape.indexes))
	for i, one := range *first.pattern.pieces {
		require.Equal(t, one.text, (*second.pattern.pieces)[i].text, "the text between the values")
	}
	other, _ := showingOn(t, "long-name-7", gpuPage("GPU-1", "GPU-2"))
	require.Equal(t, a.shape.families[0].text, other.pattern.shape.families[0].text)
	require.Equal(t, "long-name-7", other.pattern.shape.Labels(0).Get("replica_id"))
	inOrder, _ := showingOn(t, "c", gpuPage("GPU-3", "GPU-99"))
	require.Same(t, first.pattern.pieces, inOrder.pattern.pieces)
	require.NotSame(t, first.pattern.shape, second.pattern.shape)
	require.Same(t, a.shape.watched, b.shape.watched)
	for i, want := range []labels.Labels{
		labels.FromStrings("__name__", "use", "gpu_uuid", "GPU-3"),
		labels.FromStrings("__name__", "use", "gpu_uuid", "GPU-99"),
		labels.FromStrings("__name__", "watts", "gpu_uuid", "GPU-3"),
		labels.FromStrings("__name__", "watts", "gpu_uuid", "GPU-99"),
		labels.FromStrings("__name__", "x", "m", "1"),
	} {
		require.Equal(t, want, b.shape.WatchedLabels(i))
	}
}

func TestPageWithOtherGPUsDiffers(t *testing.T) {
	t.Parallel()
	c, b := showingOn(t, "a", gpuPage("GPU-1", "GPU-2"))
	shape := b.shape
	for i, other := range [][]string{
		{"GPU-2", "GPU-1"},
		{"GPU-1", "GPU-22"},
		{"GPU-1", ""},
		{"GPU-1", "GPU-2", "GPU-3"},
		{"GPU-1"},
		{"GPU-1", "GPU-1"},
	} {
		again, err := c.Parse([]byte(gpuPage("GPU-1", "GPU-2")), "", c.label)
		require.NoError(t, err)
		require.Equal(t, textOf(b), textOf(again))
		again, err = c.Parse([]byte(gpuPage(other...)), "", c.label)
		require.NoError(t, err)
		require.Equal(t, i == 0, shape == again.shape, "the order does not matter: %v", other)
		_, alone := showingOn(t, "a", gpuPage(other...))
		require.Equal(t, textOf(alone), textOf(again), other)
	}
}

func TestLinesContainLocalValuesOverTheLimit(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range maxLocal + 10 {
		names = append(names, fmt.Sprintf("GPU-%02d", i))
	}
	c, b := showingOn(t, "a", gpuPage(names...))
	require.Len(t, b.shape.local, maxLocal)
	require.Len(t, c.pattern.gpus, maxLocal)
	for i, name := range names {
		require.Equal(t, name, b.shape.WatchedLabels(i).Get("gpu_uuid"))
	}
	require.True(t, c.Fast(gpuPage(names...)), "the same page is read the fast way")
	fast, err := c.Parse([]byte(gpuPage(names...)), "", c.label)
	require.NoError(t, err)
	require.Equal(t, textOf(b), textOf(fast))
	for _, name := range names {
		require.Contains(t, textOf(b), "watts{gpu_uuid=\""+name+"\",replica_id=\"a\"} ")
	}
}

func TestReplicasShareReorderedSeries(t *testing.T) {
	t.Parallel()
	lines := []string{
		"a{m=\"1\"} 1\n", "a{m=\"2\"} 2\n", "a{m=\"2\"} 20\n", "b{gpu_uuid=\"G1\"} 3\n", "b{gpu_uuid=\"G0\"} 4\n",
		"# TYPE h histogram\nh_bucket{le=\"+Inf\"} 5\n", "x{} 6\n", "x{m=\"7\"} 7\n",
	}
	parse := func(order []int) (*Cache, *Block, string) {
		var body strings.Builder
		for _, i := range order {
			body.WriteString(lines[i])
		}
		c, b := showingOn(t, "r", body.String())
		return c, b, body.String()
	}
	_, first, _ := parse([]int{0, 1, 2, 3, 4, 5, 6, 7})
	for _, order := range [][]int{{7, 6, 5, 4, 3, 1, 2, 0}, {4, 3, 0, 1, 2, 7, 5, 6}, {1, 2, 0, 3, 4, 6, 7, 5}} {
		c, b, body := parse(order)
		require.Equal(t, textOf(first), textOf(b), order)
		require.Same(t, unsafe.SliceData(first.shape.indexes), unsafe.SliceData(b.shape.indexes))
		require.Same(t, first.shape.watched, b.shape.watched)
		require.Equal(t, first.shape.gpus, b.shape.gpus)
		require.True(t, c.Fast(body), "the same page is read the fast way")
		fast, err := c.Parse([]byte(body), "", c.label)
		require.NoError(t, err)
		for i := range first.shape.Watched() {
			want, ok := first.WatchedValue(i)
			require.True(t, ok, "series %d has a value on the first page", i)
			for _, page := range []*Block{b, fast} {
				got, ok := page.WatchedValue(i)
				require.True(t, ok, "series %d has a value on the other page", i)
				require.Equal(t, want, got, "%s %v", first.shape.WatchedLabels(i), order)
			}
			require.Equal(t, want, fast.Number(fast.shape.WatchedIndex(i)), "a number is that of its series")
		}
	}
}
