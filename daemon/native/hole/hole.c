/*
 * Gives a large range of a file back to the disk on a thread of its own. A gigabyte takes half a second, during which
 * writers of that file wait and everybody else goes on. The main thread polls whether it is done.
 */
#include "arguments.h"
#include <fcntl.h>
#include <linux/falloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define MAX_JOBS 64

enum state { FREE, BUSY, DONE };

static struct job {
  int fd;
  int64_t length;
  int error;
  atomic_int state;
} jobs[MAX_JOBS];

static void *work(void *given) {
  struct job *job = given;
  job->error = fallocate(job->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, job->length) < 0 ? errno : 0;
  close(job->fd);
  atomic_store(&job->state, DONE);
  return NULL;
}

static int begin(struct job *job, int fd, int64_t length) {
  /* A duplicate: the caller may close its descriptor meanwhile. */
  job->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (job->fd < 0) return -errno;
  job->length = length;
  atomic_store(&job->state, BUSY);
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, 64 * 1024);
  int error = pthread_create(&thread, &attributes, work, job);
  pthread_attr_destroy(&attributes);
  if (error == 0) return 0;
  close(job->fd);
  atomic_store(&job->state, FREE);
  return -error;
}

/* start_punch(fd, length): the number of the job, or a negated errno; EAGAIN when there are too many. */
static napi_value start_punch(napi_env env, napi_callback_info info) {
  ARGUMENTS(2);
  for (int number_of = 0; number_of < MAX_JOBS; number_of++) {
    if (atomic_load(&jobs[number_of].state) != FREE) continue;
    int error = begin(&jobs[number_of], (int)integer(env, argv[0], -1), integer(env, argv[1], -1));
    return number(env, error < 0 ? error : number_of);
  }
  return number(env, -EAGAIN);
}

/* poll_punch(job): 1 while it goes on; else 0 or a negated errno, and the job is forgotten. */
static napi_value poll_punch(napi_env env, napi_callback_info info) {
  ARGUMENTS(1);
  int64_t number_of = integer(env, argv[0], -1);
  if (number_of < 0 || number_of >= MAX_JOBS) return number(env, -EINVAL);
  struct job *job = &jobs[number_of];
  if (atomic_load(&job->state) == BUSY) return number(env, 1);
  int error = job->error;
  atomic_store(&job->state, FREE);
  return number(env, -error);
}

NAPI_MODULE_INIT() {
  FUNCTION(start_punch);
  FUNCTION(poll_punch);
  return exports;
}
