// SPDX-License-Identifier: Apache-2.0
#include "core/event_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

namespace millrace::board {
namespace {

// Writes its letter and time to a log when it happens.
struct Marked {
  Marked(std::string* to, char with)
      : log(to),
        letter(with),
        event(
            [](void* self, Cycles when) {
              auto* const marked = static_cast<Marked*>(self);
              *marked->log += marked->letter + std::to_string(when) + ' ';
            },
            this) {}
  std::string* log;
  char letter;
  Event event;
};

TEST(EventQueue, EmptyQueueIsNeverDue) {
  EventQueue queue;
  EXPECT_EQ(queue.next(), kNever);
  queue.advance(1000);
  queue.run_due();
  EXPECT_EQ(queue.now(), 1000u);
}

TEST(EventQueue, RunsInOrderOfTimeAndOnlyWhatIsDue) {
  std::string log;
  EventQueue queue;
  Marked a(&log, 'a'), b(&log, 'b'), c(&log, 'c');
  queue.schedule(a.event, 30);
  queue.schedule(b.event, 10);
  queue.schedule(c.event, 31);
  EXPECT_EQ(queue.next(), 10u);
  queue.advance(30);
  queue.run_due();
  EXPECT_EQ(log, "b10 a30 ");
  EXPECT_EQ(queue.next(), 31u);
  EXPECT_FALSE(a.event.scheduled());
  EXPECT_TRUE(c.event.scheduled());
}

TEST(EventQueue, EqualTimesRunInTheOrderTheyWereScheduled) {
  std::string log;
  EventQueue queue;
  std::vector<std::unique_ptr<Marked>> marked;
  for (char letter = 'a'; letter <= 'p'; ++letter) {
    marked.push_back(std::make_unique<Marked>(&log, letter));
    queue.schedule(marked.back()->event, 5);
  }
  queue.schedule(marked[0]->event, 5);  // again: now the last
  queue.advance(5);
  queue.run_due();
  EXPECT_EQ(log, "b5 c5 d5 e5 f5 g5 h5 i5 j5 k5 l5 m5 n5 o5 p5 a5 ");
}

TEST(EventQueue, TimeInThePastMeansNow) {
  std::string log;
  EventQueue queue;
  queue.advance(100);
  Marked a(&log, 'a');
  queue.schedule(a.event, 7);
  EXPECT_EQ(a.event.when(), 100u);
  queue.run_due();
  EXPECT_EQ(log, "a100 ");
}

TEST(EventQueue, CancelledAndDestroyedEventsDoNotRun) {
  std::string log;
  EventQueue queue;
  Marked a(&log, 'a');
  queue.schedule(a.event, 2);
  {
    Marked b(&log, 'b');
    queue.schedule(b.event, 1);
    EXPECT_EQ(queue.next(), 1u);
  }
  EXPECT_EQ(queue.next(), 2u);
  queue.cancel(a.event);
  queue.cancel(a.event);  // no effect
  EXPECT_EQ(queue.next(), kNever);
  queue.advance(10);
  queue.run_due();
  EXPECT_EQ(log, "");
}

TEST(EventQueue, HandlerMayScheduleItselfAndKeepsItsPeriod) {
  struct Periodic {
    explicit Periodic(EventQueue* q) : queue(q) {}
    EventQueue* queue;
    int runs = 0;
    Event event{[](void* self, Cycles when) {
                  auto* const p = static_cast<Periodic*>(self);
                  ++p->runs;
                  p->queue->schedule(p->event, when + 10);
                },
                this};
  };
  EventQueue queue;
  Periodic periodic(&queue);
  queue.schedule(periodic.event, 10);
  // The core comes late, as after a long instruction: 10, 20 and 30 are due, and none slips.
  queue.advance(35);
  queue.run_due();
  EXPECT_EQ(periodic.runs, 3);
  EXPECT_EQ(periodic.event.when(), 40u);
}

TEST(EventQueue, RandomOperationsAgreeWithASortedList) {
  std::mt19937 random(1);
  std::string log;
  EventQueue queue;
  std::vector<std::unique_ptr<Marked>> marked;
  struct Model {
    Cycles when;
    uint64_t order;
    bool on;
  };
  std::vector<Model> model(20, {0, 0, false});
  for (int i = 0; i < 20; ++i) {
    marked.push_back(std::make_unique<Marked>(&log, static_cast<char>('a' + i)));
  }
  uint64_t order = 0;
  for (int step = 0; step < 5000; ++step) {
    const size_t i = random() % 20;
    const uint32_t what = random() % 4;
    if (what < 2) {
      const Cycles when = queue.now() + random() % 16;
      queue.schedule(marked[i]->event, when);
      model[i] = {when, order++, true};
    } else if (what == 2) {
      queue.cancel(marked[i]->event);
      model[i].on = false;
    } else {
      queue.advance(queue.now() + random() % 4);
      std::string expected;
      for (;;) {
        int first = -1;
        for (int k = 0; k < 20; ++k) {
          const Model& m = model[static_cast<size_t>(k)];
          if (!m.on || m.when > queue.now()) continue;
          const Model& f = model[static_cast<size_t>(first < 0 ? k : first)];
          if (first < 0 || m.when < f.when || (m.when == f.when && m.order < f.order)) first = k;
        }
        if (first < 0) break;
        Model& m = model[static_cast<size_t>(first)];
        expected += static_cast<char>('a' + first) + std::to_string(m.when) + ' ';
        m.on = false;
      }
      log.clear();
      queue.run_due();
      ASSERT_EQ(log, expected) << "step " << step;
    }
  }
}

TEST(EventQueue, SnapshotKeepsTimeAndOrder) {
  std::string log;
  std::vector<uint8_t> bytes;
  {
    EventQueue queue;
    queue.advance(50);
    Marked a(&log, 'a'), b(&log, 'b'), c(&log, 'c');
    queue.schedule(b.event, 60);
    queue.schedule(a.event, 60);
    Snapshot s;
    queue.snapshot(s);
    for (Marked* m : {&a, &b, &c}) queue.snapshot(s, m->event);
    bytes = s.take();
  }
  EventQueue queue;
  Marked a(&log, 'a'), b(&log, 'b'), c(&log, 'c');
  queue.schedule(c.event, 1);
  Snapshot s(bytes);
  queue.snapshot(s);
  for (Marked* m : {&a, &b, &c}) queue.snapshot(s, m->event);
  ASSERT_TRUE(s.ok()) << s.error();
  EXPECT_EQ(queue.now(), 50u);
  EXPECT_EQ(queue.next(), 60u);
  queue.advance(60);
  queue.run_due();
  EXPECT_EQ(log, "b60 a60 ");
}

}  // namespace
}  // namespace millrace::board
