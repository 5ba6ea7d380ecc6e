/* What control groups say of one machine, and what the files of its view say of that. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum kind { MEMINFO, STAT, LOADAVG, CPUINFO, ONLINE, SWAPS, KINDS };
static const char *const names[KINDS] = {"meminfo", "stat", "loadavg", "cpuinfo", "online", "swaps"};

#define MOST_CPUS 1024
#define MOST_TEXT (256 * 1024)

/* Where control groups are: version 1 has a tree per controller, NULL where there is none. */
static struct {
  int version;
  const char *group, *memory, *accounting, *cpuset, *cpu, *pids;
} box;

struct machine {
  char id[72];
  ino_t file[KINDS];
  /* Until then its readers see what is there; 0 when the next one waits for new figures. In ms of `now`. */
  int64_t fresh[KINDS];
  /* When it was made, ns since the box was booted. */
  int64_t born;
  /* Processor time it had used when its load was last reckoned, and when that was, in ns. */
  int64_t used, counted;
  double load[3];
  /* Which processors its cpuinfo shows. */
  char shown[512];
};

struct text {
  char *bytes;
  size_t length, room;
};

static int64_t boot_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_BOOTTIME, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void add(struct text *text, const char *format, ...) {
  va_list values;
  va_start(values, format);
  int more = vsnprintf(text->bytes + text->length, text->room - text->length, format, values);
  va_end(values);
  if (more > 0) text->length += (size_t)more < text->room - text->length ? (size_t)more : text->room - text->length - 1;
}

/* The beginning of a file, ended by 0; empty when there is none. */
static const char *content(const char *path, char *buffer, size_t room) {
  size_t length = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && length < room - 1) {
    ssize_t got = read(fd, buffer + length, room - 1 - length);
    if (got <= 0) break;
    length += (size_t)got;
  }
  if (fd >= 0) close(fd);
  buffer[length] = 0;
  return buffer;
}

static const char *control(const struct machine *machine, const char *tree, const char *file, char *buffer, size_t room) {
  char path[4096];
  buffer[0] = 0;
  if (!tree) return buffer;
  snprintf(path, sizeof path, "%s/%s/%s/%s", tree, box.group, machine->id, file);
  return content(path, buffer, room);
}

static int64_t number_in(const struct machine *machine, const char *tree, const char *file, int64_t otherwise) {
  char buffer[64], *end;
  control(machine, tree, file, buffer, sizeof buffer);
  int64_t value = strtoll(buffer, &end, 10);
  return end == buffer ? otherwise : value;
}

/* The number behind `key` and a blank at the beginning of a line; 0 when there is none. */
static int64_t field(const char *text, const char *key) {
  size_t length = strlen(key);
  for (const char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
    if (strncmp(line, key, length) == 0 && (line[length] == ' ' || line[length] == ':')) return strtoll(line + length + 1, NULL, 10);
  return 0;
}

/* Reads a list such as `0-3,8`; the number of processors in it. Those beyond what there is room for are left out. */
static int cpus_of(const char *list, int *cpu) {
  int count = 0;
  while (isdigit((unsigned char)*list)) {
    char *end;
    long first = strtol(list, &end, 10), last = first;
    if (*end == '-') last = strtol(end + 1, &end, 10);
    for (; first <= last && first < MOST_CPUS && count < MOST_CPUS; first++) cpu[count++] = (int)first;
    list = *end == ',' ? end + 1 : end;
  }
  return count;
}

/* As many as its share rounded up, where the box hands no set of processors down. */
static int cpus_by_share(const struct machine *machine) {
  char buffer[128], *end;
  int64_t quota, period;
  int all = (int)sysconf(_SC_NPROCESSORS_ONLN);
  if (box.version == 2) {
    quota = strtoll(control(machine, box.cpu, "cpu.max", buffer, sizeof buffer), &end, 10);
    if (end == buffer) return all;
    period = strtoll(end, NULL, 10);
  } else {
    quota = number_in(machine, box.cpu, "cpu.cfs_quota_us", -1);
    period = number_in(machine, box.cpu, "cpu.cfs_period_us", 100000);
  }
  if (quota <= 0 || period <= 0) return all;
  int64_t count = (quota + period - 1) / period;
  return count < all ? (int)count : all;
}

/* The list of its processors, as the kernel writes it, without an end of line. */
static void processors(const struct machine *machine, char *list, size_t room) {
  control(machine, box.cpuset, box.version == 2 ? "cpuset.cpus.effective" : "cpuset.effective_cpus", list, room);
  if (!*list) control(machine, box.cpuset, "cpuset.cpus", list, room);
  list[strcspn(list, "\n")] = 0;
  if (*list) return;
  int count = cpus_by_share(machine);
  snprintf(list, room, count > 1 ? "0-%d" : "0", count - 1);
}

struct times {
  int64_t user, system;
};

/* Processor time by user and kernel in ns; with `each`, also that of each processor of the box, where it is told. */
static struct times times_of(const struct machine *machine, struct times *each) {
  char buffer[65536];
  struct times all = {0, 0};
  if (box.version == 2) {
    control(machine, box.cpu, "cpu.stat", buffer, sizeof buffer);
    return (struct times){field(buffer, "user_usec") * 1000, field(buffer, "system_usec") * 1000};
  }
  const char *line = strchr(control(machine, box.accounting, "cpuacct.usage_all", buffer, sizeof buffer), '\n');
  for (; line && line[1]; line = strchr(line + 1, '\n')) {
    long long cpu, user, system;
    if (sscanf(line + 1, "%lld %lld %lld", &cpu, &user, &system) != 3) break;
    if (each && cpu >= 0 && cpu < MOST_CPUS) each[cpu] = (struct times){user, system};
    all.user += user;
    all.system += system;
  }
  return all;
}

/*
 * Averages of the processors it uses, over one, five and fifteen minutes. What waits for one is not told to anybody but the
 * kernel, so it does not count. Reckoned when somebody looks: what was used since then is spread over that time.
 */
static void reckon_load(struct machine *machine) {
  static const double minutes[3] = {60, 300, 900};
  struct times times = times_of(machine, NULL);
  int64_t now = boot_ns(), used = times.user + times.system, since = now - machine->counted;
  if (since < 20000000) return;
  double rate = used > machine->used ? (double)(used - machine->used) / (double)since : 0;
  for (int at = 0; at < 3; at++) {
    double stays = exp(-(double)since / 1e9 / minutes[at]);
    machine->load[at] = machine->load[at] * stays + rate * (1 - stays);
  }
  machine->used = used;
  machine->counted = now;
}
