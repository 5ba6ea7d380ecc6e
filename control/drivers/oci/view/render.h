/* The text of each file of a view. Figures stand in columns, so that a reader between two writes sees whole lines. */
#include "figures.h"

static void put_memory(struct text *text, const char *name, int64_t bytes) {
  add(text, "%-15s %8lld kB\n", name, (long long)(bytes > 0 ? bytes / 1024 : 0));
}

/* The memory it has is its limit; what pages of files hold can be had again. */
static void render_meminfo(const struct machine *machine, struct text *text) {
  char stat[16384], memory[4096];
  int two = box.version == 2;
  control(machine, box.memory, "memory.stat", stat, sizeof stat);
  int64_t all = field(content("/proc/meminfo", memory, sizeof memory), "MemTotal") * 1024;
  int64_t limit = number_in(machine, box.memory, two ? "memory.max" : "memory.limit_in_bytes", all);
  int64_t used = number_in(machine, box.memory, two ? "memory.current" : "memory.usage_in_bytes", 0);
#define OF(one, other) field(stat, two ? other : "total_" one)
  int64_t cached = OF("cache", "file"), shared = OF("shmem", "shmem"), slab = two ? field(stat, "slab_reclaimable") : 0;
  int64_t fixed = two ? field(stat, "slab_unreclaimable") : 0;
  int64_t old_file = OF("inactive_file", "inactive_file"), new_file = OF("active_file", "active_file");
  int64_t old_anon = OF("inactive_anon", "inactive_anon"), new_anon = OF("active_anon", "active_anon");
  if (limit > all) limit = all;
  int64_t unused = limit > used ? limit - used : 0, available = unused + old_file + new_file + slab;
  put_memory(text, "MemTotal:", limit);
  put_memory(text, "MemFree:", unused);
  put_memory(text, "MemAvailable:", available < limit ? available : limit);
  put_memory(text, "Buffers:", 0);
  put_memory(text, "Cached:", cached);
  put_memory(text, "SwapCached:", 0);
  put_memory(text, "Active:", new_anon + new_file);
  put_memory(text, "Inactive:", old_anon + old_file);
  put_memory(text, "Active(anon):", new_anon);
  put_memory(text, "Inactive(anon):", old_anon);
  put_memory(text, "Active(file):", new_file);
  put_memory(text, "Inactive(file):", old_file);
  put_memory(text, "Unevictable:", OF("unevictable", "unevictable"));
  put_memory(text, "Mlocked:", 0);
  put_memory(text, "SwapTotal:", 0);
  put_memory(text, "SwapFree:", 0);
  put_memory(text, "Dirty:", OF("dirty", "file_dirty"));
  put_memory(text, "Writeback:", OF("writeback", "file_writeback"));
  put_memory(text, "AnonPages:", OF("rss", "anon"));
  put_memory(text, "Mapped:", OF("mapped_file", "file_mapped"));
  put_memory(text, "Shmem:", shared);
  put_memory(text, "KReclaimable:", slab);
  put_memory(text, "Slab:", slab + fixed);
  put_memory(text, "SReclaimable:", slab);
  put_memory(text, "SUnreclaim:", fixed);
  put_memory(text, "KernelStack:", two ? field(stat, "kernel_stack") : 0);
  put_memory(text, "PageTables:", two ? field(stat, "pagetables") : 0);
  put_memory(text, "CommitLimit:", limit);
  put_memory(text, "Committed_AS:", used);
#undef OF
}

static void put_times(struct text *text, const char *name, struct times times, int64_t lived) {
  const int64_t tick = 10000000;
  int64_t idle = lived - times.user - times.system;
  add(text, "%-5s %10lld 0 %10lld %10lld 0 0 0 0 0 0\n", name, (long long)(times.user / tick),
      (long long)(times.system / tick), (long long)(idle > 0 ? idle / tick : 0));
}

/* Its processors are counted from 0 on, as cpuinfo does. Version 2 does not tell them apart: each did its part. */
static void render_stat(const struct machine *machine, struct text *text) {
  static struct times each[MOST_CPUS];
  static int cpu[MOST_CPUS];
  char list[512], name[16], buffer[64];
  memset(each, 0, sizeof each);
  processors(machine, list, sizeof list);
  int count = cpus_of(list, cpu);
  struct times all = times_of(machine, each);
  int64_t lived = boot_ns() - machine->born;
  put_times(text, "cpu", all, lived * count);
  for (int at = 0; at < count; at++) {
    struct times part = {all.user / count, all.system / count};
    snprintf(name, sizeof name, "cpu%d", at);
    put_times(text, name, box.version == 2 ? part : each[cpu[at]], lived);
  }
  long long processes = strtoll(control(machine, box.pids, "pids.current", buffer, sizeof buffer), NULL, 10);
  struct timespec real;
  clock_gettime(CLOCK_REALTIME, &real);
  add(text, "intr 0\nctxt 0\nbtime %lld\nprocesses %lld\nprocs_running 1\nprocs_blocked 0\n",
      (long long)(real.tv_sec - lived / 1000000000), processes);
}

static void render_loadavg(const struct machine *machine, struct text *text) {
  char buffer[64];
  long long processes = strtoll(control(machine, box.pids, "pids.current", buffer, sizeof buffer), NULL, 10);
  add(text, "%.2f %.2f %.2f 1/%lld %lld\n", machine->load[0], machine->load[1], machine->load[2], processes, processes);
}

/* What counts the box's processors in the description of one. */
static int replaced(struct text *text, const char *line, int at, int count) {
  static const struct {
    const char *key;
    int what;
  } lines[] = {{"processor", 0}, {"core id", 0}, {"apicid", 0}, {"initial apicid", 0},
               {"siblings", 1}, {"cpu cores", 1}, {"physical id", 2}};
  for (size_t each = 0; each < sizeof lines / sizeof *lines; each++) {
    size_t length = strlen(lines[each].key);
    if (strncmp(line, lines[each].key, length) != 0 || (line[length] != '\t' && line[length] != ':')) continue;
    add(text, "%.*s: %d\n", (int)strcspn(line, ":"), line, lines[each].what == 0 ? at : lines[each].what == 1 ? count : 0);
    return 1;
  }
  return 0;
}

static int is_among(const int *cpu, int count, int which) {
  for (int at = 0; at < count; at++)
    if (cpu[at] == which) return 1;
  return 0;
}

/* The paragraphs of its processors, numbered anew; what stands there of the whole box stays (some architectures). */
static void render_cpuinfo(const struct machine *machine, struct text *text) {
  static char all[MOST_TEXT];
  static int cpu[MOST_CPUS];
  char list[512];
  processors(machine, list, sizeof list);
  int count = cpus_of(list, cpu), at = -1, mine = 1;
  content("/proc/cpuinfo", all, sizeof all);
  for (char *line = all, *end; *line; line = end + 1) {
    end = strchr(line, '\n');
    if (!end) break;
    *end = 0;
    if (strncmp(line, "processor", 9) == 0 && strchr(line, ':')) {
      mine = is_among(cpu, count, atoi(strchr(line, ':') + 1));
      if (mine) at++;
    }
    if (mine && !replaced(text, line, at, count)) add(text, "%s\n", line);
  }
}

static void render(struct machine *machine, enum kind kind, struct text *text) {
  char list[512];
  if (kind == MEMINFO) render_meminfo(machine, text);
  else if (kind == STAT) render_stat(machine, text);
  else if (kind == LOADAVG) reckon_load(machine), render_loadavg(machine, text);
  else if (kind == CPUINFO) render_cpuinfo(machine, text);
  else if (kind == ONLINE) processors(machine, list, sizeof list), add(text, "%s\n", list);
  else add(text, "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
}
