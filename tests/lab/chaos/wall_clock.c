/*
 * The wall clock of one process, off by as much as a file says. Preload it (LD_PRELOAD); the environment variable
 * WALL_CLOCK names the file: eight bytes, nanoseconds, looked at whenever the time is asked for.
 *
 * Clocks that only go on stay right, as they do when an administrator sets the time. Who waits until a time of the wall
 * clock waits as long as it wanted to when it began.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

static volatile int64_t none;
static volatile int64_t *off = &none;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("WALL_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *seen = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *off, PROT_READ, MAP_SHARED, file, 0);
    if (seen != MAP_FAILED)
        off = seen;
    if (file >= 0)
        close(file);
}

static struct timespec moved(struct timespec time, int64_t by)
{
    int64_t nanoseconds = time.tv_nsec + by % SECOND;
    time.tv_sec += by / SECOND + (nanoseconds >= SECOND) - (nanoseconds < 0);
    time.tv_nsec = nanoseconds - (nanoseconds >= SECOND) * SECOND + (nanoseconds < 0) * SECOND;
    return time;
}

/* What runs since the machine was started is far below any wall clock. */
static struct timespec until(const struct timespec *deadline)
{
    return deadline->tv_sec > SECOND ? moved(*deadline, -*off) : *deadline;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int status = syscall(SYS_clock_gettime, clock, time);
    if (!status && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        *time = moved(*time, *off);
    return status;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *where)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (where)
        *where = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *time, int base)
{
    return base == TIME_UTC && !clock_gettime(CLOCK_REALTIME, time) ? base : 0;
}

/* glibc has older conditions of the same names, which dlsym may find. */
static void *true_one(const char *name, const char *version)
{
    void *found = dlvsym(RTLD_NEXT, name, version);
    return found ? found : dlsym(RTLD_NEXT, name);
}

#define TRUE_ONE(name, version) ((typeof(&name))true_one(#name, version))

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict deadline)
{
    static typeof(&pthread_cond_timedwait) wait;
    struct timespec when = until(deadline);
    if (!wait)
        wait = TRUE_ONE(pthread_cond_timedwait, "GLIBC_2.3.2");
    return wait(condition, mutex, &when);
}

int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict deadline)
{
    static typeof(&cnd_timedwait) wait;
    struct timespec when = until(deadline);
    if (!wait)
        wait = TRUE_ONE(cnd_timedwait, "GLIBC_2.28");
    return wait(condition, mutex, &when);
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict deadline)
{
    static typeof(&sem_timedwait) wait;
    struct timespec when = until(deadline);
    if (!wait)
        wait = TRUE_ONE(sem_timedwait, "GLIBC_2.34");
    return wait(semaphore, &when);
}
