package clock

import (
	"hash/fnv"
	"time"
)

// slotLength is the longest time between two moments of the clock at which work
// of the same interval is begun: what is due within it is begun together. A slot
// costs some 0.4 ms of processor time that has nothing to do with how many targets
// are in it; half as long ones make scraping 1000 targets every 5 s a sixth dearer.
const slotLength = 200 * time.Millisecond

// Alarm is work with its next moment. Its fields belong to the clock.
type Alarm struct {
	every, phase time.Duration
	// next is the next moment, since the clock's origin; place is the alarm's in
	// the queue, -1 when it is taken out.
	next  time.Duration
	place int
	// begun is true when the work was begun once.
	begun bool
	due   Due
}

// advance sets the next moment and says how many have passed without a call.
func (a *Alarm) advance(now time.Duration) (missed uint64) {
	if a.begun {
		missed = uint64((now - a.next) / a.every)
	}
	a.begun = true
	a.next = now + a.every - (now-a.phase+a.every)%a.every
	return missed
}

// slotted is the beginning of the slot that a moment is in.
func slotted(at, every time.Duration) time.Duration {
	slot := slotOf(every)
	return at - at%slot
}

// slotOf is the length of the slots of an interval: a part of it, and of five at
// least.
func slotOf(every time.Duration) time.Duration {
	const leastSlots = 5
	slots := max(leastSlots, (every+slotLength-1)/slotLength)
	return max(every/slots, 1)
}

// offset spreads keys over a period by their hash.
func offset(key string, period time.Duration) time.Duration {
	if period <= 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	return time.Duration(h.Sum64() % uint64(period))
}

// alarms are a heap by their next moment.
type alarms []*Alarm

// Len implements heap.Interface.
func (q alarms) Len() int { return len(q) }

// Less implements heap.Interface.
func (q alarms) Less(i, j int) bool { return q[i].next < q[j].next }

// Swap implements heap.Interface.
func (q alarms) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements heap.Interface.
func (q *alarms) Push(x any) {
	a, _ := x.(*Alarm)
	a.place = len(*q)
	*q = append(*q, a)
}

// Pop implements heap.Interface.
func (q *alarms) Pop() any {
	last := len(*q) - 1
	a := (*q)[last]
	(*q)[last], *q = nil, (*q)[:last]
	a.place = -1
	return a
}
