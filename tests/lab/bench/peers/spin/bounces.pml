/* The model of docs/explanation/exploring.md for SPIN: 2.0.1 to 2.1.1 in one bounce, members told apart.
 *
 * Give N, CRASHES and LATES to the preprocessor. A move is one atomic step, so that nothing else is a state; `made` and
 * all that is hidden is forgotten between two moves. The state after a death is one, and the state before the first
 * leader has been chosen another; both have to be taken off the number of states.
 */
#define CRASHED 0
#define STOPPED 1
#define OUTSIDE 2
#define WAITED_FOR 3
#define JOINED 4
#define ANSWERED 5
#define CONTENT 6

#define PREPARING 0
#define COMPLETING 1
#define STABLE 2

/* What a member knows of versions; OVERSHOT dies of its next subscription (KAFKA-8649). */
#define OLD 1
#define NEW 2
#define OVERSHOT 3
#define LOWERED 4

/* Answers; a member that is content keeps the version that it got: THREE or FOUR. */
#define THREE 1
#define THREE_OF_FOUR 2
#define PROBED 3
#define FOUR 4
#define LAST_REBALANCE 5

/* What a leader hears of a subscription, and a ghost: an id whose process is gone. */
#define HEARS_OLD 1
#define HEARS_NEW 2
#define HEARS_LOWERED 4
#define HEARD 7
#define THERE 8
#define LEADS 16

typedef Member {
    byte status = CONTENT;
    byte version = OLD;
    byte word = THREE;
    byte older;
    byte younger;
    bit place;
    bit leads
};

Member m[N];
byte phase = STABLE, crashes = CRASHES, lates = LATES;
bool dead;
hidden byte i, ids, missing, heard, ghost, led;

#define RUNS(a) (m[a].status >= OUTSIDE)
#define KNOWN(a) (m[a].status >= WAITED_FOR)
#define SAYS(a) (m[a].version == OLD -> HEARS_OLD : (m[a].version == NEW -> HEARS_NEW : HEARS_LOWERED))
#define WAITS(a) (m[a].status == WAITED_FOR || m[a].status == ANSWERED)
#define LEAVES(a) (m[a].version == NEW && m[a].word != FOUR)

#if N == 2
#define ANY(condition) (condition(0) || condition(1))
#elif N == 3
#define ANY(condition) (condition(0) || condition(1) || condition(2))
#else
#define ANY(condition) (condition(0) || condition(1) || condition(2) || condition(3))
#endif
#define BY_HAND(a) (m[a].status == STOPPED)
#define UNFINISHED(a) (m[a].place == 0 || m[a].status != CONTENT || m[a].older)
#define UNWELL(a) (m[a].version != NEW || m[a].word != FOUR)

inline count() {
    ids = 0; missing = 0;
    for (i : 0 .. N - 1) {
        ids = ids + KNOWN(i) + (m[i].older > 0) + (m[i].younger > 0);
        missing = missing + WAITS(i) + (m[i].older && !(m[i].older & HEARD)) + (m[i].younger && !(m[i].younger & HEARD))
    }
}

inline prepare() {
    if
    :: phase != PREPARING ->
        for (i : 0 .. N - 1) {
            m[i].older = m[i].older & (THERE | LEADS);
            m[i].younger = m[i].younger & (THERE | LEADS);
            if
            :: m[i].status == JOINED || m[i].status == CONTENT -> m[i].status = WAITED_FOR; m[i].word = 0
            :: else
            fi
        };
        phase = PREPARING
    :: else
    fi
}

inline complete() {
    count();
    if
    :: phase == PREPARING && ids && !missing -> phase = COMPLETING
    :: else
    fi
}

inline leave(a) {
    m[a].status = OUTSIDE; m[a].word = 0; m[a].leads = 0
}

/* After an id has been removed: ids is the number of those that are left. */
inline removed() {
    prepare();
    complete();
    led = led && ids
}

inline end_of(a, as) {
    if
    :: KNOWN(a) ->
        ghost = THERE | (m[a].leads -> LEADS : 0) | (m[a].status == JOINED -> SAYS(a) : 0);
        if
        :: m[a].older -> m[a].younger = ghost
        :: else -> m[a].older = ghost
        fi
    :: else
    fi;
    leave(a);
    m[a].status = as; m[a].version = 0
}

inline die() {
    for (i : 0 .. N - 1) {
        m[i].status = 0; m[i].version = 0; m[i].word = 0; m[i].older = 0; m[i].younger = 0; m[i].place = 0; m[i].leads = 0
    };
    phase = 0; crashes = 0; lates = 0; dead = true
}

inline join(a) {
    if
    :: m[a].version == OVERSHOT -> die()
    :: else ->
        count();
        m[a].leads = m[a].leads || !ids;
        prepare();
        m[a].status = JOINED; m[a].word = 0;
        complete()
    fi
}

inline take(a) {
    led = 0;
    if
    :: LEAVES(a) ->
        m[a].version = (m[a].word == PROBED -> LOWERED : NEW);
        led = m[a].leads;
        leave(a);
        removed()
    :: else ->
        if
        :: m[a].version == OLD && m[a].word == THREE_OF_FOUR -> m[a].version = OVERSHOT
        :: m[a].version == LOWERED && m[a].word != THREE -> m[a].version = NEW
        :: else
        fi;
        if
        :: phase == PREPARING -> m[a].status = WAITED_FOR; m[a].word = 0
        :: else -> m[a].status = CONTENT; m[a].word = (m[a].word == FOUR -> FOUR : THREE)
        fi
    fi
}

inline expire(a) {
    led = (m[a].older & LEADS) > 0;
    m[a].older = m[a].younger; m[a].younger = 0;
    removed()
}

inline late(a) {
    lates--;
    led = m[a].leads;
    leave(a);
    removed()
}

inline lead(a) {
    heard = 0;
    for (i : 0 .. N - 1) {
        heard = heard | ((m[i].older | m[i].younger) & HEARD) | (m[i].status == JOINED -> SAYS(i) : 0)
    };
    for (i : 0 .. N - 1) {
        m[i].older = m[i].older & (THERE | LEADS);
        m[i].younger = m[i].younger & (THERE | LEADS);
        if
        :: m[i].status == JOINED ->
            m[i].status = ANSWERED;
            if
            :: m[a].place == 0 -> m[i].word = (m[i].version == NEW -> PROBED : THREE)
            :: m[a].place && heard == HEARS_NEW -> m[i].word = FOUR
            :: m[a].place && heard != HEARS_NEW ->
                m[i].word = (m[i].leads && !(heard & HEARS_OLD) -> LAST_REBALANCE : THREE_OF_FOUR)
            fi
        :: else
        fi
    };
    phase = STABLE
}

inline start(a) {
    m[a].place = (m[a].status == STOPPED -> 1 : m[a].place);
    m[a].status = OUTSIDE;
    m[a].version = (m[a].place -> NEW : OLD)
}

#define CANDIDATES(b) \
    :: led && KNOWN(b) -> m[b].leads = 1 \
    :: led && m[b].older -> m[b].older = m[b].older | LEADS \
    :: led && m[b].younger -> m[b].younger = m[b].younger | LEADS

#if N == 2
#define ELECT if CANDIDATES(0) CANDIDATES(1) :: !led fi
#elif N == 3
#define ELECT if CANDIDATES(0) CANDIDATES(1) CANDIDATES(2) :: !led fi
#else
#define ELECT if CANDIDATES(0) CANDIDATES(1) CANDIDATES(2) CANDIDATES(3) :: !led fi
#endif

#define MOVES(a) \
    :: atomic { m[a].status == OUTSIDE || m[a].status == WAITED_FOR -> d_step { join(a) }; assert(!dead) } \
    :: atomic { m[a].status == ANSWERED -> d_step { take(a) }; ELECT; led = 0; assert(ANY(UNFINISHED) || !ANY(UNWELL)) } \
    :: atomic { m[a].older -> d_step { expire(a) }; ELECT; led = 0 ; assert(ANY(UNFINISHED) || !ANY(UNWELL)) } \
    :: atomic { lates && phase == PREPARING && WAITS(a) -> d_step { late(a) }; ELECT; led = 0 } \
    :: atomic { RUNS(a) && m[a].place == 0 && !ANY(BY_HAND) -> d_step { end_of(a, STOPPED) } } \
    :: atomic { RUNS(a) && crashes -> d_step { end_of(a, CRASHED); crashes-- } } \
    :: atomic { !RUNS(a) && !dead -> d_step { start(a) } } \
    :: atomic { phase == COMPLETING && m[a].leads && RUNS(a) -> d_step { lead(a) } }

active proctype group() {
    atomic {
        if
        :: m[0].leads = 1
        :: m[1].leads = 1
#if N > 2
        :: m[2].leads = 1
#endif
#if N > 3
        :: m[3].leads = 1
#endif
        fi
    };
end:
    do
    MOVES(0)
    MOVES(1)
#if N > 2
    MOVES(2)
#endif
#if N > 3
    MOVES(3)
#endif
    od
}
