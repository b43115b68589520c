package owner

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// errand is one of a guarded owner, and what came of its pieces.
func errand(o *Owner, j *Job, work func(context.Context) string) (e *Errand[string], came *[]string) {
	came = new([]string)
	return NewErrand(o, j, "work", work, func(_ context.Context, answer string, failed error) {
		if failed != nil {
			answer = failed.Error()
		}
		*came = append(*came, answer)
	}), came
}

func TestAPieceIsGivenAwayOrDoneNextToTheOwner(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		says string
		give func(e *Errand[string]) bool
		want string
	}{
		{"given away", func(e *Errand[string]) bool { go e.Answer("another", true); return true }, "another"},
		{"not given away", func(*Errand[string]) bool { return false }, "own"},
		{"given away, and given back", func(e *Errand[string]) bool { go e.Answer("", false); return true }, "own"},
	} {
		t.Run(c.says, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, _, proceeded := guarded()
				var j Job
				e, came := errand(o, &j, func(context.Context) string { return "own" })
				for n := range 3 {
					o.Do(func() {
						require.True(t, e.Begin(t.Context(), func() bool { return c.give(e) }))
						require.True(t, j.Running)
						require.False(t, e.Begin(t.Context(), func() bool { panic("one is under way") }))
					})
					time.Sleep(time.Second)
					synctest.Wait()
					require.False(t, j.Running)
					require.Equal(t, j.Began, j.Answered)
					require.Equal(t, n+1, *proceeded)
				}
				o.Close()
				require.Equal(t, []string{c.want, c.want, c.want}, *came)
			})
		})
	}
}

func TestAPieceThatNobodyWaitsForComesToNothing(t *testing.T) {
	t.Parallel()
	for says, over := range map[string]func(o *Owner, cancel func()){
		"an earlier epoch":         func(o *Owner, _ func()) { o.Do(func() { o.Epoch++ }) },
		"a context that has ended": func(_ *Owner, cancel func()) { cancel() },
		"both":                     func(o *Owner, cancel func()) { o.Do(func() { o.Epoch++ }); cancel() },
	} {
		for _, given := range []bool{true, false} {
			t.Run(says, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					o, _, proceeded := guarded()
					ctx, cancel := context.WithCancel(t.Context())
					var j Job
					e, came := errand(o, &j, func(context.Context) string { time.Sleep(time.Minute); return "late" })
					o.Do(func() {
						e.Begin(ctx, func() bool {
							if given {
								time.AfterFunc(time.Minute, func() { e.Answer("late", true) })
							}
							return given
						})
					})
					over(o, cancel)
					time.Sleep(time.Hour)
					synctest.Wait()
					require.Empty(t, *came)
					require.Zero(t, *proceeded)
					o.Do(func() {
						j = Job{}
						require.True(t, e.Begin(t.Context(), func() bool { go e.Answer("next", true); return true }))
					})
					synctest.Wait()
					o.Close()
					require.Equal(t, []string{"next"}, *came, "the next piece is one of its own")
				})
			})
		}
	}
}

func TestAPieceThatPanicsIsBackAndHasFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, panics, _ := guarded()
		var j Job
		e, came := errand(o, &j, func(context.Context) string { panic("a bug") })
		o.Do(func() { e.Begin(t.Context(), func() bool { return false }) })
		synctest.Wait()
		require.False(t, j.Running)
		require.Len(t, *came, 1)
		require.Contains(t, (*came)[0], "a bug")
		require.Equal(t, 1, *panics)

		taken := NewErrand(o, &j, "work", nil, func(context.Context, string, error) { panic("another") })
		for range 2 {
			o.Do(func() {
				require.True(t, taken.Begin(t.Context(), func() bool { go taken.Answer("x", true); return true }))
			})
			synctest.Wait()
			require.False(t, j.Running, "who takes the answer may panic too")
		}
		require.Equal(t, 3, *panics)
	})
}

// An answer that makes the next piece possible may have it begun at once.
func TestAPieceWhoseGivingAwayPanicsIsDoneNextToTheOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, panics, _ := guarded()
		var j Job
		e, came := errand(o, &j, func(context.Context) string { return "own" })
		for range 2 {
			o.Do(func() { e.Begin(t.Context(), func() bool { panic("boom") }) })
			synctest.Wait()
			require.False(t, j.Running)
		}
		o.Close()
		require.Equal(t, []string{"own", "own"}, *came)
		require.Equal(t, 2, *panics)
	})
}

func TestAPieceBeginsTheNext(t *testing.T) {
	t.Parallel()
	o, _, _ := guarded()
	var j Job
	var came []int
	var e *Errand[int]
	e = NewErrand(o, &j, "work", nil, func(ctx context.Context, n int, _ error) {
		if came = append(came, n); n < 5 {
			e.Begin(ctx, func() bool { e.Answer(n+1, true); return true })
		}
	})
	o.Do(func() { e.Begin(t.Context(), func() bool { e.Answer(1, true); return true }) })
	o.Close()
	require.Equal(t, []int{1, 2, 3, 4, 5}, came)
}

func TestAPieceNeedsNoMemory(t *testing.T) {
	o, _, _ := guarded()
	var j Job
	e := NewErrand(o, &j, "work", nil, func(context.Context, int, error) {})
	ctx := t.Context()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		o.Now(func() { e.Begin(ctx, func() bool { return true }) })
		e.Answer(1, true)
	}))
}
