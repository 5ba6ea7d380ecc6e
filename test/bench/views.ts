/**
 * What one sandbox that reads its views of `/proc` without end costs another that reads its own. Beside it a neighbour that only computes:
 * both take the same share of the processors, so that what is left is what the views cost.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { MeasuredHost } from './host-server.ts'
import { inTurns, timeOf } from './measure.ts'
import { percentile, row, type Row } from './report.ts'

const memoryMb = 1_024
const rounds = 10
const reader = 'while :; do read -r a < /proc/meminfo; read -r a < /proc/stat; read -r a < /proc/loadavg; done'
const spinner = 'while :; do a=1; a=2; a=3; done'
/** Some of each file, new ones and those that are fresh still. */
const reads =
  'i=0; while [ $i -lt 3000 ]; do read -r a < /proc/meminfo; read -r a < /proc/stat; read -r a < /proc/uptime; i=$((i + 1)); done'

const beside = async (host: MeasuredHost, noise: string): Promise<number> => {
  const name = 'reader'
  await host.create(name, memoryMb)
  await host.begin(name, noise)
  await sleep(500)
  const ms = await timeOf(() => host.exec('quiet', reads))
  await host.remove([name])
  return ms
}

/** `quiet` is a sandbox that is there. */
export const viewRows = async (host: MeasuredHost): Promise<Row[]> => {
  const took = await inTurns(rounds, { reads: () => beside(host, reader), computes: () => beside(host, spinner) })
  return [row('neighbour.views.reads', percentile(took.reads, 0.5), 'ms', percentile(took.computes, 0.5))]
}
