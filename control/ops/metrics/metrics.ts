/** What is measured of a host, in Prometheus' text form. Everything is this host's own: nothing is kept in the module. */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client'
import type { Observer } from '../../core/machines/observer.ts'
import type { WarmReport } from '../../core/machines/warm/report.ts'
import type { Tallied } from '../../core/store/store.ts'

/** What is only looked at when somebody reads. */
export interface Sources {
  tally(): Promise<{ readonly resources: readonly Tallied[]; readonly instances: readonly Tallied[] }>
  pools(): Promise<Pick<WarmReport, 'pools' | 'claimed' | 'missed'>>
  /** Since the bill was last brought up to date, ms. */
  meterLagMs(): number
  /** Bytes of the data directory's disk. */
  disk(): Promise<{ readonly free: number; readonly size: number }>
  /** What sandboxes have of it, and what may still be promised, bytes; undefined where they share it without end. */
  storage(): Promise<Record<'used' | 'promised' | 'free', number> | undefined>
  draining(): boolean
}

export interface Metrics {
  readonly observer: Observer
  /** A request of the gateway was answered. Called for every request: it only counts. */
  answered(status: number): void
  /** A line of the log that somebody should know of. */
  noted(level: 'warn' | 'error', event: string): void
  /** All of it; the content type goes with it. */
  text(sources: Sources): Promise<string>
  readonly contentType: string
  /** For what counts by itself. */
  readonly registry: Registry
}

/** Seconds: a claim takes some ms, a create some hundred, one that waits its turn up to a minute. */
const startBuckets = [0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const wakeBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]

const histograms = (registers: Registry[]) => ({
  starts: new Histogram({
    name: 'hutch_start_seconds',
    help: 'From the wish for a machine until it answers, by the way it was got',
    labelNames: ['way'],
    buckets: startBuckets,
    registers,
  }),
  wakes: new Histogram({
    name: 'hutch_wake_seconds',
    help: 'Resuming a sandbox that slept',
    buckets: wakeBuckets,
    registers,
  }),
})

const counters = (registers: Registry[]) => ({
  requests: new Counter({
    name: 'hutch_gateway_requests_total',
    help: 'Requests to workloads that were answered, by the hundred of the status',
    labelNames: ['status'],
    registers,
  }),
  notes: new Counter({
    name: 'hutch_log_lines_total',
    help: 'Warnings and errors of the log, by event',
    labelNames: ['level', 'event'],
    registers,
  }),
  claims: new Counter({
    name: 'hutch_pool_claims_total',
    help: 'Machines that were given from a pool (claimed), and made because none was there (missed)',
    labelNames: ['result'],
    registers,
  }),
})

const gauge = (registers: Registry[], name: string, help: string, labelNames: string[] = []) =>
  new Gauge({ name: `hutch_${name}`, help, labelNames, registers })

const gauges = (registers: Registry[]) => ({
  resources: gauge(registers, 'resources', 'Records that machines run for, by kind and status', ['kind', 'status']),
  machines: gauge(registers, 'machines', 'Machines, by the kind of their owner and state', ['kind', 'state']),
  pool: gauge(registers, 'pool_machines', 'Machines made ahead of need: wanted, ready, starting', ['image', 'state']),
  lag: gauge(registers, 'meter_lag_seconds', 'Since the bill was last brought up to date'),
  free: gauge(registers, 'data_free_bytes', 'Free on the disk of the data directory'),
  size: gauge(registers, 'data_size_bytes', 'Size of the disk of the data directory'),
  storage: gauge(registers, 'storage_bytes', 'Disk of sandboxes: used, promised to them, and free to be promised', [
    'state',
  ]),
  draining: gauge(registers, 'draining', '1 while no new sandboxes are taken'),
})

const classes = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const

export const createMetrics = (): Metrics => {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const { starts, wakes } = histograms(registers)
  const { requests, notes, claims } = counters(registers)
  const shown = gauges(registers)
  /** Requests by class: a plain count costs the gateway nothing. */
  const answered = classes.map(() => 0)

  const look = async (sources: Sources): Promise<void> => {
    const { resources, instances } = await sources.tally()
    const [pools, disk, storage] = await Promise.all([sources.pools(), sources.disk(), sources.storage()])
    for (const one of [shown.resources, shown.machines, shown.pool, shown.storage]) one.reset()
    for (const { kind, status, count } of resources) shown.resources.set({ kind, status }, count)
    for (const { kind, status, count } of instances) shown.machines.set({ kind, state: status }, count)
    for (const { image, configured, demanded, ready, starting } of pools.pools) {
      shown.pool.set({ image, state: 'wanted' }, Math.max(configured, demanded))
      shown.pool.set({ image, state: 'ready' }, ready)
      shown.pool.set({ image, state: 'starting' }, starting)
    }
    claims.reset()
    claims.inc({ result: 'claimed' }, pools.claimed)
    claims.inc({ result: 'missed' }, pools.missed)
    requests.reset()
    for (const [index, status] of classes.entries()) requests.inc({ status }, answered[index] ?? 0)
    shown.lag.set(sources.meterLagMs() / 1000)
    shown.free.set(disk.free)
    shown.size.set(disk.size)
    for (const [state, bytes] of Object.entries(storage ?? {})) shown.storage.set({ state }, bytes)
    shown.draining.set(sources.draining() ? 1 : 0)
  }

  return {
    observer: {
      started: (way, ms) => starts.observe({ way }, ms / 1000),
      woke: ms => wakes.observe(ms / 1000),
    },
    answered(status) {
      const index = Math.floor(status / 100) - 1
      if (index in answered) answered[index] = (answered[index] ?? 0) + 1
    },
    noted: (level, event) => notes.inc({ level, event }),
    async text(sources) {
      await look(sources)
      return registry.metrics()
    },
    contentType: registry.contentType,
    registry,
  }
}
