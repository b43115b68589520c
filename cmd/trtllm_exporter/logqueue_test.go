package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLogIsWrittenInOrder(t *testing.T) {
	var out bytes.Buffer
	q := newLogQueue(&out)
	var want strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&want, "line %d\n", i)
		fmt.Fprintf(q, "line %d\n", i)
	}
	q.close()
	require.Equal(t, want.String(), out.String())
}

// A log that nobody reads makes nobody wait: neither those who log, nor the end.
func TestLogThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe()
		q := newLogQueue(write)
		began := time.Now()
		for range 100_000 {
			fmt.Fprintln(q, "line")
		}
		require.Zero(t, time.Since(began))
		require.Positive(t, q.dropped.Load())
		q.close()
		require.LessOrEqual(t, time.Since(began), flushTimeout)
		require.NoError(t, read.Close())
	})
}

// fullDisk is a disk without room until it is freed.
type fullDisk struct {
	bytes.Buffer

	free bool
}

func (f *fullDisk) Write(line []byte) (int, error) {
	if !f.free {
		return 0, syscall.ENOSPC
	}
	return f.Buffer.Write(line)
}

func TestLinesThatNoDiskTakesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var disk fullDisk
		q := newLogQueue(&disk)
		fmt.Fprintln(q, "one")
		fmt.Fprintln(q, "two")
		synctest.Wait()
		require.EqualValues(t, 2, q.dropped.Load())
		disk.free = true
		fmt.Fprintln(q, "three")
		q.close()
		require.Regexp(t, "^[^\n]* 2 lines of the log were dropped[^\n]*\nthree\n$", disk.String())
	})
}

func TestReaderOfLogLearnsWhatItMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read, write := io.Pipe()
		q := newLogQueue(write)
		const lines = 3 * maxQueued
		for range lines {
			fmt.Fprintln(q, "line")
			synctest.Wait()
		}
		dropped := q.dropped.Load()
		var out bytes.Buffer
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = io.Copy(&out, read)
		}()
		synctest.Wait()
		fmt.Fprintln(q, "last line")
		q.close()
		require.NoError(t, write.Close())
		<-done
		require.Contains(t, out.String(), fmt.Sprintf("%d lines of the log were dropped", dropped))
		require.EqualValues(t, lines-dropped, strings.Count(out.String(), "line\n")-1)
	})
}
