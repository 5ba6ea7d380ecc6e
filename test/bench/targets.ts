/** What we hold ourselves to, by the name of the figure. */

/** Bounds that a figure keeps: its own, and those of its ratio to the floor. */
export interface Target {
  readonly most?: number
  readonly least?: number
  readonly mostRatio?: number
  readonly leastRatio?: number
}

export const targets: Readonly<Record<string, Target>> = {
  'host.create-exec.cold.p50': { most: 120 },
  'host.create-exec.against-runc.p50': { mostRatio: 3 },
  'host.create-exec.own-users.p50': { mostRatio: 1.1 },
  'host.burst-20.succeeded': { least: 100 },
  'host.burst-100.succeeded': { least: 100 },
  'host.wake.added.p50': { most: 5 },
  'host.exec-true.daemon.p50': { most: 3, mostRatio: 2 },
  'host.exec-true.gateway.p50': { most: 3, mostRatio: 2 },
  'host.file-read.daemon': { least: 1_000 },
  'host.file-write.daemon': { leastRatio: 0.5 },
  'host.file-read.gateway': { least: 500 },
  'host.file-write.gateway': { leastRatio: 0.5 },
  'host.memory.at-rest': { most: 16 },
  'host.memory.after-work': { most: 64 },
  'host.memory.standby': { most: 20 },
  'bundle.memory.rest': { most: 16 },
  'bundle.memory.after-work': { most: 64 },
  'process.exec-true.p50': { most: 3, mostRatio: 2 },
  'process.log-stream': { least: 1_000_000 },
  'files.download': { least: 1_000 },
  'files.upload.raw': { leastRatio: 0.5 },
  'files.upload.form': { leastRatio: 0.5 },
  // Every part is hashed as well: three at once at three times the 500 MB/s that one stream of MD5 can have.
  'files.multipart': { leastRatio: 1 },
  'files.memory-after': { most: 64 },
  'soak.memory-after': { most: 64 },
  'soak.memory-growth': { most: 1 },
  'soak.memory-growth.later': { most: 0.5 },
  'soak.descriptors-growth': { most: 0 },
  'soak.threads-growth': { most: 0 },
  'gateway.added.1.p50': { mostRatio: 2 },
  'gateway.added.32.p50': { mostRatio: 2 },
  'gateway.requests-per-core': { least: 10_000 },
  'management.list-10k.first-page.p99': { most: 10 },
  'management.list-10k.next-page.p99': { most: 10 },
  'management.list-10k.search.p99': { most: 10 },
  'store.list.first-page.p99': { most: 10 },
  'store.list.live-only.p99': { most: 10 },
  'store.list.rare-status.p99': { most: 10 },
  'store.list.deep-page.p99': { most: 10 },
  'store.list.by-name.p99': { most: 10 },
  'store.list.search-common.p99': { most: 10 },
  'store.metrics.year-monthly.p50': { most: 50 },
  'store.metrics.year-monthly-by-dimension-and-workspace.p50': { most: 50 },
}
