package collector

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape/lane"
)

// scheduler runs periodic tasks with one goroutine and one timer. The tasks are spread over slots
// of their interval by the hash of their keys; the tasks of a slot start together and share a
// batch of requests. It is safe for concurrent use.
type scheduler struct {
	origin time.Time
	// wake wakes the goroutine when another task may be the next.
	wake chan struct{}
	// running waits for tasks that have started.
	running sync.WaitGroup
	batches sync.Pool

	mu    sync.Mutex
	tasks []*task
	// next is when the goroutine wakes up.
	next time.Duration
}

// newScheduler returns a scheduler whose times count from origin.
func newScheduler(origin time.Time) *scheduler {
	return &scheduler{
		origin:  origin,
		wake:    make(chan struct{}, 1),
		batches: sync.Pool{New: func() any { return new(lane.Batch) }},
	}
}

// task is a function that is called once per interval. Its fields are guarded by the scheduler's
// lock.
type task struct {
	interval, phase time.Duration
	// next is when it is due next, since the scheduler's origin.
	next    time.Duration
	started bool
	due     func(missed uint64, b *lane.Batch)
	// at is its place in the list of tasks, negative once it is removed.
	at int
}

// add adds a task, which is due at a fixed offset of each interval given by its key, and for the
// first time within soon. Due receives the number of runs missed since the last call. It must not
// block; requests go into the batch, which runs after all tasks of the slot.
func (s *scheduler) add(key string, interval, soon time.Duration, due func(missed uint64, b *lane.Batch)) *task {
	t := &task{
		interval: interval,
		phase:    slotStart(offset(key, interval), interval),
		next:     slotStart(time.Since(s.origin)+offset(key, min(interval, soon)), interval),
		due:      due,
	}
	s.mu.Lock()
	t.at = len(s.tasks)
	s.tasks = append(s.tasks, t)
	earlier := t.next < s.next
	s.mu.Unlock()
	if earlier {
		select {
		case s.wake <- struct{}{}:
		default: // It will wake up already.
		}
	}
	return t
}

// remove removes a task. A running call is not interrupted.
func (s *scheduler) remove(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.at < 0 {
		return
	}
	last := len(s.tasks) - 1
	moved := s.tasks[last]
	s.tasks[t.at], moved.at = moved, t.at
	s.tasks[last] = nil
	s.tasks, t.at = s.tasks[:last], -1
}

// run starts tasks that are due until ctx is done, then waits for running tasks.
func (s *scheduler) run(ctx context.Context) {
	defer s.running.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(s.tick())
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.wake:
		}
	}
}

type dueTask struct {
	*task

	missed uint64
}

// tick starts all tasks that are due and returns the time until the next. It checks every task,
// but only a few times per second, because tasks are due in slots.
func (s *scheduler) tick() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []dueTask
	now := time.Since(s.origin)
	s.next = now + time.Hour
	for _, t := range s.tasks {
		if t.next <= now {
			due = append(due, dueTask{t, t.advance(now)})
		}
		s.next = min(s.next, t.next)
	}
	s.start(due)
	return s.next - now
}

// minTasks is the minimum number of tasks per goroutine: waking another CPU costs as much as
// scraping dozens of pages.
const minTasks = 64

// start starts the tasks in as many goroutines as can run at once.
func (s *scheduler) start(due []dueTask) {
	size := max(minTasks, (len(due)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	for chunk := range slices.Chunk(due, size) {
		s.running.Go(func() {
			b, _ := s.batches.Get().(*lane.Batch)
			defer s.batches.Put(b)
			for _, t := range chunk {
				t.due(t.missed, b)
			}
			b.Run()
		})
	}
}

// advance sets when the task is due next and returns how many runs it missed.
func (t *task) advance(now time.Duration) (missed uint64) {
	if t.started {
		missed = uint64((now - t.next) / t.interval)
	}
	t.started = true
	t.next = now + t.interval - (now-t.phase+t.interval)%t.interval
	return missed
}

// maxSlot is the longest slot; tasks of one interval that are due within a slot start together. A
// slot costs about 0.4 ms of CPU time regardless of the number of targets in it: with slots of
// 200 ms, scraping 100 targets every second costs a sixth more.
const maxSlot = 500 * time.Millisecond

// slotStart returns the start of the slot that contains t. An interval has at least two slots.
func slotStart(t, interval time.Duration) time.Duration {
	const minSlots = 2
	slots := max(minSlots, (interval+maxSlot-1)/maxSlot)
	return t - t%max(interval/slots, 1)
}

func offset(key string, interval time.Duration) time.Duration {
	if interval <= 0 {
		return 0
	}
	return time.Duration(hash(key) % uint64(interval))
}
