/* SPDX-License-Identifier: Apache-2.0
 *
 * Model of link_protocol.md for spin: a device that sends N frames of one stream, a host that takes
 * them, and a cable each way that keeps the order but loses and repeats what is on it, at most FAULTS
 * times in all. (A damaged frame fails its CRC: it is lost.) Either end may restart, at most RESTARTS times in all.
 *
 * What is proved, for all interleavings within these bounds:
 *   safety    frames are taken in order, each once, of the session that the host believes in (asserts);
 *             a device that restarted in a session the host has is reported before anything of a new
 *             session is taken (assert), so a loss is never silent; credit is never overrun (assert)
 *   no deadlock   the only end is that all N frames were taken and the device knows it, so that it may
 *             forget them (valid end state)
 *   progress  no cycle in which no frame is taken or released, ever (non-progress cycles, -DNP)
 * Timeouts happen only when nothing is on the cables, which is when they matter, and prematurely as
 * one of the faults. A probe with a tag that the host does not know is silence to it: the host's own
 * timer, which connects again, then comes first.
 *
 * Tags, sessions and nonces are counters: in the protocol they are random, so that two are equal only
 * by chance.
 */
#ifndef N
#define N 3
#endif
#define W 2        /* window, frames */
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef RESTARTS
#define RESTARTS 1
#endif
#define CAP 3      /* frames on a cable */

mtype = { HELLO, WELCOME, UNKNOWN, DATA, ACK, PROBE, NOTICE };

/* device to host: type, tag, a, b      DATA: a sequence, b true session; WELCOME: a nonce, b session;
 *                                      UNKNOWN: a nonce; PROBE: a number
 * host to device: type, tag, a, b, c   HELLO: a nonce, b session wanted; ACK: a next, b bitmap of what
 *                                      came (bit s: frame s), c released * 16 + echo of the probe */
chan down = [CAP] of { mtype, byte, byte, byte };
chan up = [CAP] of { mtype, byte, byte, byte, byte };

byte faults = FAULTS, restarts = RESTARTS;
byte sessions = 0, tags = 0, nonces = 0;

/* device */
byte d_session = 0, d_tag = 0, d_nonce = 0;
byte d_first = 0, d_acked = 0, d_unsent = 0, d_ever = 0, d_limit = 0;
byte d_have = 0, d_lost = 0;     /* bitmaps of frames: acknowledged beyond d_acked, to be sent again */
byte d_sent_after_probe = 0;     /* frames sent since the last probe: its answer says nothing of them */
byte d_after[N];                 /* frames sent once, later than the last transmission of this one */
byte d_once = 0;                 /* frames sent exactly once in this connection */
bool d_probe_due = false;
byte d_probe = 0;                /* number of the last probe; 0: none */

/* host */
byte h_session = 0, h_tag = 0, h_nonce = 0, h_next = 0, h_read = 0, h_got = 0, h_echo = 0;
bool h_connected = false, h_ack_due = false;
bool device_restarted = false;   /* since the host's session began, and not yet reported */

mtype t; byte tag, a, b, c, i, s;

#define BIT(x) (1 << (x))
#define D_WAITS (d_session != 0 && d_tag != 0 && d_first < N)
#define DONE (h_read == N && d_first == N && d_session == h_session)
#define QUIET (len(up) == 0 && len(down) == 0)

inline new_tag() { tags++; d_tag = tags }

inline rewind() {                 /* all that is not released is to be sent again, credit 0 */
  d_acked = d_first; d_unsent = d_first; d_have = 0; d_lost = 0; d_limit = d_first;
  d_probe_due = false; d_probe = 0; d_once = 0; d_sent_after_probe = 0;
  i = 0; do :: i < N -> d_after[i] = 0; i++ :: else -> break od
}

inline transmit(n) {
  down!DATA(d_tag, n, d_session);
  i = 0; do :: i < n -> skip; i++ :: else -> break od;
  if :: (d_once & BIT(n)) -> d_once = d_once & ~BIT(n); s = 1      /* again: tells nothing of others */
     :: else -> s = 0
  fi;
  d_after[n] = 0;
  d_sent_after_probe = d_sent_after_probe | BIT(n);
  d_lost = d_lost & ~BIT(n)
}

inline mark_after(n) {            /* frame n was sent for the first time: it is later than all others */
  i = 0;
  do :: i < N -> if :: i != n -> d_after[i] = d_after[i] | BIT(n) :: else fi; i++
     :: else -> break
  od;
  d_once = d_once | BIT(n)
}

inline hear_ack() {               /* a next, b bitmap, c released * 16 + echo */
  if
  :: (c / 16 >= d_first && a <= d_ever) ->
     if :: a > d_unsent -> d_unsent = a :: else fi;
     if :: a > d_acked -> d_acked = a :: else fi;
     d_have = d_have | b;
     d_first = c / 16;
     if :: d_first + W > d_limit -> d_limit = d_first + W :: else fi;
     /* a frame that was sent once, later than one that is missing, has come: that one is lost */
     i = d_acked;
     do
     :: i < d_unsent ->
        if :: (!(d_have & BIT(i)) && (d_after[i] & b & d_once)) -> d_lost = d_lost | BIT(i)
           :: else
        fi;
        if :: ((c % 16) != 0 && (c % 16) == d_probe && !(d_have & BIT(i)) && !(d_sent_after_probe & BIT(i))) ->
              d_lost = d_lost | BIT(i)
           :: else
        fi;
        i++
     :: else -> break
     od;
     d_lost = d_lost & ~d_have
  :: else                         /* older than what is known */
  fi
}

inline hear_data() {              /* a sequence, b the session it truly is of */
  if
  :: a < h_next || (h_got & BIT(a)) -> h_ack_due = true          /* duplicate */
  :: a >= h_read + W -> assert(false)                            /* beyond what was promised */
  :: else ->
     assert(b == h_session);
     h_got = h_got | BIT(a);
     h_ack_due = true;
     do :: h_next < N && (h_got & BIT(h_next)) -> h_next++ :: else -> break od
  fi
}

active proctype link() {
  do
  /* --- device hears --- */
  :: atomic { nempty(up) && nfull(down) -> up?t, tag, a, b, c;
     if
     :: t == HELLO ->
        if
        :: a == d_nonce && d_session != 0 -> down!WELCOME(d_tag, d_nonce, d_session)
        :: a != d_nonce && b != 0 && b != d_session -> down!UNKNOWN(0, a, 0)
        :: a != d_nonce && b != 0 && b == d_session ->
           d_nonce = a; new_tag(); rewind(); down!WELCOME(d_tag, a, d_session)
        :: a != d_nonce && b == 0 ->
           d_nonce = a; sessions++; d_session = sessions; new_tag();
           d_first = 0; d_ever = 0; rewind(); down!WELCOME(d_tag, a, d_session)
        :: else -> skip
        fi
     :: t == ACK && tag == d_tag && d_tag != 0 -> hear_ack()
     :: t == ACK && (tag != d_tag || d_tag == 0) -> down!NOTICE(0, 0, 0)
     fi }

  /* --- device sends: what was lost first --- */
  :: atomic { d_tag != 0 && d_lost != 0 && nfull(down) ->
     s = d_acked; do :: !(d_lost & BIT(s)) -> s++ :: else -> break od;
     a = s; transmit(a) }
  :: atomic { d_tag != 0 && d_lost == 0 && d_unsent < N && d_unsent < d_limit && nfull(down) ->
     a = d_unsent; transmit(a); if :: s == 0 -> mark_after(a) :: else fi;
     d_unsent++; if :: d_unsent > d_ever -> d_ever = d_unsent :: else fi }
  :: atomic { d_probe_due && nfull(down) ->
     d_probe_due = false; d_probe = (d_probe % 7) + 1; d_sent_after_probe = 0; down!PROBE(d_tag, d_probe, 0) }
  :: atomic { D_WAITS && QUIET && !d_probe_due && !h_ack_due && h_connected && h_read == h_next && d_lost == 0 &&
              !(d_unsent < N && d_unsent < d_limit) && d_tag == h_tag -> d_probe_due = true }

  /* --- host hears --- */
  :: atomic { down?t, tag, a, b ->
     if
     :: t == WELCOME && a == h_nonce && !h_connected ->
        if :: b != h_session -> assert(h_session == 0); h_session = b; h_read = 0; h_next = 0; device_restarted = false
           :: else
        fi;
        h_got = BIT(h_next) - 1; h_tag = tag; h_connected = true; h_ack_due = true; h_echo = 0
     :: t == WELCOME && a == h_nonce && h_connected && tag != h_tag ->
        h_connected = false; nonces++; h_nonce = nonces   /* a restarted device took an old HELLO for a new one */
     :: t == UNKNOWN && a == h_nonce && !h_connected ->
        /* reported to the application, which starts anew */
        assert(h_session != 0);
        h_session = 0; device_restarted = false; nonces++; h_nonce = nonces
     :: t == DATA && h_connected && tag == h_tag -> hear_data()
     :: t == PROBE && h_connected && tag == h_tag -> h_echo = a; h_ack_due = true
     :: t == NOTICE && h_connected -> h_connected = false; nonces++; h_nonce = nonces
     :: else -> skip
     fi }

  /* --- host sends --- */
  :: atomic { h_connected && h_ack_due && nfull(up) ->
     h_ack_due = false; up!ACK(h_tag, h_next, h_got, h_read * 16 + h_echo) ; h_echo = 0 }
  :: atomic { !h_connected && QUIET -> if :: h_nonce == 0 -> nonces++; h_nonce = nonces :: else fi;
     up!HELLO(0, h_nonce, h_session, 0) }

  /* --- the application takes a frame --- */
  :: atomic { h_read < h_next -> assert(!device_restarted || h_session != d_session || d_session == 0);
     h_read++; h_ack_due = true };
progress: skip

  /* --- faults --- */
  :: atomic { faults > 0 && nempty(down) -> faults--; down?t, tag, a, b }
  :: atomic { faults > 0 && nempty(up) -> faults--; up?t, tag, a, b, c }
  :: atomic { faults > 0 && nempty(down) && nfull(down) -> faults--; down?<t, tag, a, b>; down!t, tag, a, b }
  :: atomic { faults > 0 && nempty(up) && nfull(up) -> faults--; up?<t, tag, a, b, c>; up!t, tag, a, b, c }
  :: atomic { faults > 0 && D_WAITS && !d_probe_due -> faults--; d_probe_due = true }

  /* --- restarts --- */
  :: atomic { restarts > 0 && !DONE -> restarts--;           /* the host program is killed */
     h_next = h_read; h_got = BIT(h_read) - 1; h_connected = false; h_ack_due = false; nonces++; h_nonce = nonces }
  :: atomic { restarts > 0 && !DONE && d_session != 0 -> restarts--;   /* the device loses power */
     d_session = 0; d_tag = 0; d_nonce = 0; d_first = 0; d_ever = 0; rewind(); device_restarted = true }

  /* --- silence: the host connects again; what it asks tells it of a restart --- */
  :: atomic { h_connected && QUIET && d_tag != h_tag && !h_ack_due && h_read == h_next && !DONE ->
     h_connected = false; nonces++; h_nonce = nonces }

  :: DONE -> break
  od
}
